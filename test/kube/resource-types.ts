// The resource types that the API server serves, and the merge keys of their lists.

/** Lists whose items have keys. Other lists are atomic: server-side apply replaces them as a whole. */
export type MergeSchema =
  | { readonly type: 'atomic' }
  | { readonly type: 'set' }
  | { readonly type: 'map'; readonly keys: readonly string[]; readonly fields?: MergeFields }
  | { readonly type: 'object'; readonly fields: MergeFields; readonly isFreeMap?: boolean }

export type MergeFields = Readonly<Record<string, MergeSchema>>

export interface ResourceType {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly shortNames: readonly string[]
  readonly isNamespaced: boolean
  readonly hasStatus: boolean
  readonly scale?: { readonly spec: string; readonly status: string; readonly selector?: string }
  readonly merge: MergeFields
}

const listOf = (...keys: string[]): MergeSchema => ({ type: 'map', keys })
const object = (fields: MergeFields): MergeSchema => ({ type: 'object', fields })
const atomic: MergeSchema = { type: 'atomic' }

export const metadataMerge: MergeFields = {
  metadata: object({ finalizers: { type: 'set' }, ownerReferences: listOf('uid') }),
}

const containers: MergeSchema = {
  type: 'map',
  keys: ['name'],
  fields: {
    env: listOf('name'),
    ports: listOf('containerPort', 'protocol'),
    volumeMounts: listOf('mountPath'),
    volumeDevices: listOf('devicePath'),
  },
}

const podSpec = object({
  containers,
  initContainers: containers,
  volumes: listOf('name'),
  imagePullSecrets: listOf('name'),
  topologySpreadConstraints: listOf('topologyKey', 'whenUnsatisfiable'),
  hostAliases: listOf('ip'),
  nodeSelector: atomic,
  resources: object({ claims: listOf('name') }),
})

const conditions = object({ conditions: listOf('type') })
const podTemplate = object({ ...metadataMerge, spec: podSpec })

interface Options {
  readonly short?: readonly string[]
  readonly isClusterWide?: boolean
  readonly hasStatus?: boolean
  readonly hasScale?: boolean
  readonly merge?: MergeFields
}

function define(apiVersion: string, plural: string, kind: string, options: Options = {}): ResourceType {
  const [version = '', group = ''] = apiVersion.split('/').toReversed()
  return {
    group,
    version,
    plural,
    kind,
    singular: kind.toLowerCase(),
    shortNames: options.short ?? [],
    isNamespaced: options.isClusterWide !== true,
    hasStatus: options.hasStatus === true,
    ...(options.hasScale === true
      ? { scale: { spec: '.spec.replicas', status: '.status.replicas', selector: '.status.selector' } }
      : {}),
    merge: { ...metadataMerge, ...options.merge },
  }
}

export const builtInTypes: readonly ResourceType[] = [
  define('v1', 'namespaces', 'Namespace', { short: ['ns'], isClusterWide: true, hasStatus: true }),
  define('v1', 'configmaps', 'ConfigMap', { short: ['cm'] }),
  define('v1', 'secrets', 'Secret'),
  define('v1', 'serviceaccounts', 'ServiceAccount', { short: ['sa'] }),
  define('v1', 'services', 'Service', {
    short: ['svc'],
    hasStatus: true,
    merge: { spec: object({ ports: listOf('port', 'protocol'), selector: atomic }), status: conditions },
  }),
  define('v1', 'pods', 'Pod', {
    short: ['po'],
    hasStatus: true,
    merge: { spec: podSpec, status: conditions },
  }),
  define('v1', 'persistentvolumeclaims', 'PersistentVolumeClaim', {
    short: ['pvc'],
    hasStatus: true,
    merge: { spec: object({ selector: atomic }), status: conditions },
  }),
  define('v1', 'events', 'Event', { short: ['ev'] }),
  define('apps/v1', 'statefulsets', 'StatefulSet', {
    short: ['sts'],
    hasStatus: true,
    hasScale: true,
    merge: { spec: object({ selector: atomic, template: podTemplate }), status: conditions },
  }),
  define('apps/v1', 'controllerrevisions', 'ControllerRevision'),
  define('apps/v1', 'deployments', 'Deployment', {
    short: ['deploy'],
    hasStatus: true,
    hasScale: true,
    merge: { spec: object({ selector: atomic, template: podTemplate }), status: conditions },
  }),
  define('batch/v1', 'jobs', 'Job', {
    hasStatus: true,
    merge: { spec: object({ selector: atomic, template: podTemplate }), status: conditions },
  }),
  define('policy/v1', 'poddisruptionbudgets', 'PodDisruptionBudget', {
    short: ['pdb'],
    hasStatus: true,
    merge: { spec: object({ selector: atomic }), status: conditions },
  }),
  define('networking.k8s.io/v1', 'networkpolicies', 'NetworkPolicy', {
    short: ['netpol'],
    merge: { spec: object({ podSelector: atomic }) },
  }),
  define('coordination.k8s.io/v1', 'leases', 'Lease'),
  define('events.k8s.io/v1', 'events', 'Event', { short: ['ev'] }),
  define('storage.k8s.io/v1', 'storageclasses', 'StorageClass', { short: ['sc'], isClusterWide: true }),
  define('rbac.authorization.k8s.io/v1', 'roles', 'Role'),
  define('rbac.authorization.k8s.io/v1', 'rolebindings', 'RoleBinding'),
  define('rbac.authorization.k8s.io/v1', 'clusterroles', 'ClusterRole', { isClusterWide: true }),
  define('rbac.authorization.k8s.io/v1', 'clusterrolebindings', 'ClusterRoleBinding', { isClusterWide: true }),
  define('apiextensions.k8s.io/v1', 'customresourcedefinitions', 'CustomResourceDefinition', {
    short: ['crd', 'crds'],
    isClusterWide: true,
    hasStatus: true,
    merge: { status: conditions },
  }),
]

export function formatApiVersion(type: { readonly group: string; readonly version: string }): string {
  return type.group === '' ? type.version : `${type.group}/${type.version}`
}
