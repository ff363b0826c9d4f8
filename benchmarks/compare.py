r"""Compares AnchorRadar with the nine baselines of its paper and two heuristics, beside
the figures of the paper: accuracy, MRR, NDCG, training time, parameters, peak memory.

The same as :obj:`tgx-anchor benchmark`, with another default of :obj:`--out`.
"""

import sys
from pathlib import Path

from tgx_anchor.cli import main

DEFAULT = ['--out', str(Path(__file__).parent / 'results' / 'compare.csv')]

if __name__ == '__main__':
    # Names may be separated by spaces as well as by commas.
    words: list[str] = []
    for word in sys.argv[1:]:
        previous = words[-1] if words else ''
        before = words[-2] if len(words) > 1 else ''
        if before in ('--datasets', '--methods') and not word.startswith('--'):
            words[-1] = f'{previous},{word}'
        else:
            words.append(word)
    sys.argv = [sys.argv[0], 'benchmark', *DEFAULT, *words]
    main()
