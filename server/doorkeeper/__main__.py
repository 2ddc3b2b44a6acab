"""``python -m doorkeeper``: the same as the command ``doorkeeper``."""

from doorkeeper.cli import main

if __name__ == "__main__":
    main()
