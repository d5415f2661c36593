// Entry point of the module deploy: the resources of Kubernetes, their checks, and the objects of a cluster. It is pure: reading files,
// cryptography and the API server are parameters or belong to other modules.

export { formatFault, type Fault } from './documents/fault-list.ts'
export {
  fromJson,
  toJson,
  manifestLimits,
  type JsonObject,
  type JsonValue,
  type ManifestNode,
} from './documents/manifest-node.ts'
export type { CertificateCheck, CertificateProblem, CertificateTexts } from './certificates/check-certificates.ts'
export {
  readResource,
  type BackupResource,
  type ClusterResource,
  type ReadOptions,
  type ReadResource,
  type Resource,
  type RestoreResource,
} from './read-resource.ts'
export type { KubernetesObject, OwnerReference } from './render/kubernetes-object.ts'
export { renderCluster, type ClusterSecrets, type RenderOptions } from './render/render-cluster.ts'
export { createCrds } from './crd/create-crds.ts'
export { computeStatus, type ClusterStatus, type Condition } from './operate/cluster-status.ts'
export {
  formatSettled,
  readPath,
  type LiveObject,
  type ObservedClaim,
  type ObservedCluster,
  type ObservedDrain,
  type ObservedFiles,
  type ObservedPod,
} from './operate/observed-cluster.ts'
export { planCluster, type ClusterPlan, type PlanStep } from './operate/plan-cluster.ts'
export { listTransitions, type TransitionEvent } from './operate/transition-events.ts'
export { fileNames, labelKeys, nameObjects } from './resource/cluster-names.ts'
export { resourceKinds, type ResourceKind } from './resource/resource-kinds.ts'
