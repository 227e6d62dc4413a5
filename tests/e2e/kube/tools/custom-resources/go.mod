// Nothing is built from these: the tests install the custom resources that they publish.
module netkit/tests/custom-resources

go 1.26.0

require (
	github.com/koordinator-sh/koordinator v1.8.0
	github.com/kubewharf/katalyst-api v0.3.4-0.20231227064317-59eb6f3f6ae0
	sigs.k8s.io/scheduler-plugins v0.34.7
)
