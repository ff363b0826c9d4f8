r"""Parts of the site that are made from the package, its tables and its notebooks."""
