"""`python -m penstock`: the command line, where its script is not on the path."""

from penstock.cli import main

if __name__ == "__main__":
    main()
