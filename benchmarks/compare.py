r"""Compares AnchorRadar with the nine baselines of its paper and the heuristics, beside
the figures of the paper: accuracy, MRR, NDCG, training time, parameters, peak memory.

Each result goes to a CSV file at once, and a second run continues where the first one
stopped. Tables (Markdown, LaTeX) and the charts of efficiency go next to it. The same
as :obj:`tgx-anchor benchmark`.
"""

import sys
from pathlib import Path

from tgx_anchor.cli import main

DEFAULT = ['--out', str(Path(__file__).parent / 'results' / 'compare.csv')]

if __name__ == '__main__':
    # A list of names may also be given word by word.
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
