// Entry point of the module kubernetes: a client of the API server.

export { KubeClient, type WatchEvent } from './kube-client.ts'
export { readPodConnection, type ConnectionReading, type KubeConnection } from './kube-connection.ts'
export { readKubeconfig } from './kubeconfig.ts'
export {
  isConflict,
  isNotFound,
  KubeRequestError,
  type KubeFields,
  type KubeMetadata,
  type KubeResource,
} from './kube-types.ts'
export { KeyedQueue } from './keyed-queue.ts'
export { Reflector } from './reflector.ts'
export { formatApiVersion, type ResourceAddress, type ResourceKind } from './resource-path.ts'
