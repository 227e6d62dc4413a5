"""`python -m netkit_exporters serve|once|metrics`: the commands of `netkit exporter`."""

from netkit_exporters.command import main

main()
