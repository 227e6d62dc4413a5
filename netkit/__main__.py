"""`python -m netkit`, the same program as the `netkit` script."""

from netkit.cli.app import main

if __name__ == "__main__":
    main()
