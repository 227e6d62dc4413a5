#!/bin/sh
# Runs as root in the guest: two veth ends, an rxe device on each, a load from rxe0 to itself, then the readings.
# $1 is the Python of the environment, $2 the file of the results (the guest's own temporary folder is not the host's).
set -eu
exec >"$2.log" 2>&1
here=$(dirname "$0")
modprobe -a rdma_rxe ib_uverbs rdma_ucm veth e1000e
ip link set lo up
ip link add v0 mtu 4200 type veth peer name v1 mtu 4200
ip link set v0 up
ip link set v1 up
ip address add 10.9.0.1/24 dev v0
# Quiet, so that its statistics are the same in two readings: no router solicitations.
for nic in /sys/bus/pci/drivers/e1000e/*/net/*; do
    echo 1 >"/proc/sys/net/ipv6/conf/${nic##*/}/disable_ipv6"
    ip link set "${nic##*/}" up
done
rdma link add rxe0 type rxe netdev v0
rdma link add rxe1 type rxe netdev v1
exec "$1" "$here/readings.py" "$2"
