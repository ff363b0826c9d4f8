"""Groups that random walks and embeddings are tested on."""

# Members listed twice, groups that come again, singletons, a loner, a far end.
GROUPS = [
    [0, 1, 2],
    [0, 1, 2],
    [1, 3],
    [0, 3, 4, 4],
    [2, 5],
    [5, 6, 6, 6],
    [1, 1, 5],
    [6],
    [7],
    [2],
    [0, 2, 3, 5],
]
NUM_NODES = 9
