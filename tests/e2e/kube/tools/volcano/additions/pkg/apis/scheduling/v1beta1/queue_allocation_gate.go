// Package v1beta1 gains the one name that volcano 1.15.1 uses of its unpublished apis and that apis 1.14.0 lacks.
package v1beta1

// QueueAllocationGateKey is the scheduling gate, and the annotation, of pods that wait for their queue.
const QueueAllocationGateKey = "scheduling.volcano.sh/queue-allocation-gate"
