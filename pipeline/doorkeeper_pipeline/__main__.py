"""``python -m doorkeeper_pipeline``: the command line."""

from doorkeeper_pipeline.cli import main

if __name__ == "__main__":
    main()
