// Defaults and checks of built-in types, as far as an operator meets them. The types of fields are checked by `kubernetes-models`.

import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1'
import { Lease } from 'kubernetes-models/coordination.k8s.io/v1'
import { Event } from 'kubernetes-models/events.k8s.io/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { Role, RoleBinding } from 'kubernetes-models/rbac.authorization.k8s.io/v1'
import { ConfigMap, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount } from 'kubernetes-models/v1'
import { createCause, createInvalidError, KubeError, type ErrorCause } from './kube-error.ts'
import { getList, getObject, getPath, isEqual, setPath, type JsonObject, type KubeObject } from './kube-object.ts'
import { parseQuantity } from './quantity.ts'

interface Model {
  validate(): void
}

const models: Readonly<Record<string, new (data: never) => Model>> = {
  ConfigMap,
  Deployment,
  Event,
  Lease,
  NetworkPolicy,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
  StatefulSet,
}

const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/

/** Times in Lease and Event have six decimals; the real server cannot decode others, so this is error 400. */
const microTimes: Readonly<Record<string, readonly string[]>> = {
  Lease: ['.spec.renewTime', '.spec.acquireTime'],
  Event: ['.eventTime'],
}

/** Returns the object with the defaults of its type. */
export function addBuiltInDefaults(object: KubeObject): KubeObject {
  const result = structuredClone(object)
  const spec = getObject(result, 'spec')
  if (object.kind === 'Secret') mergeStringData(result)
  if (object.kind === 'Service') addServiceDefaults(spec)
  if (object.kind === 'StatefulSet') addStatefulSetDefaults(spec)
  if (object.kind === 'PersistentVolumeClaim') {
    spec['volumeMode'] ??= 'Filesystem'
    if (getPath(result, '.status.phase') === undefined) setPath(result, '.status.phase', 'Pending')
  }
  if (object.kind === 'Pod') addPodDefaults(spec)
  return result
}

function mergeStringData(secret: KubeObject): void {
  const { stringData } = secret
  secret['type'] ??= 'Opaque'
  if (stringData === undefined) return
  const encoded = Object.entries(stringData as JsonObject).map(([key, value]) => [
    key,
    Buffer.from(String(value)).toString('base64'),
  ])
  secret['data'] = { ...getObject(secret, 'data'), ...(Object.fromEntries(encoded) as JsonObject) }
  delete secret['stringData']
}

function addServiceDefaults(spec: JsonObject): void {
  spec['type'] ??= 'ClusterIP'
  spec['sessionAffinity'] ??= 'None'
  if (spec['type'] !== 'ExternalName') {
    spec['clusterIP'] ??= '10.96.0.10'
    spec['ipFamilyPolicy'] ??= 'SingleStack'
    spec['internalTrafficPolicy'] ??= 'Cluster'
  }
  for (const port of getList(spec, 'ports')) {
    port['protocol'] ??= 'TCP'
    port['targetPort'] ??= port['port']
    if (spec['type'] === 'NodePort' || spec['type'] === 'LoadBalancer')
      port['nodePort'] ??= 30_000 + (Number(port['port']) % 2_768)
  }
}

function addStatefulSetDefaults(spec: JsonObject): void {
  spec['replicas'] ??= 1
  spec['podManagementPolicy'] ??= 'OrderedReady'
  spec['revisionHistoryLimit'] ??= 10
  const strategy = (spec['updateStrategy'] ??= {}) as JsonObject
  strategy['type'] ??= 'RollingUpdate'
  if (strategy['type'] === 'RollingUpdate') strategy['rollingUpdate'] ??= { partition: 0 }
  const retention = (spec['persistentVolumeClaimRetentionPolicy'] ??= {}) as JsonObject
  retention['whenDeleted'] ??= 'Retain'
  retention['whenScaled'] ??= 'Retain'
  const podSpec = getPath(spec, '.template.spec')
  if (podSpec !== undefined) addPodDefaults(podSpec as JsonObject)
  for (const claim of getList(spec, 'volumeClaimTemplates')) {
    claim['apiVersion'] ??= 'v1'
    claim['kind'] ??= 'PersistentVolumeClaim'
    getObject(claim, 'spec')['volumeMode'] ??= 'Filesystem'
    claim['status'] ??= { phase: 'Pending' }
  }
}

function addPodDefaults(spec: JsonObject): void {
  spec['restartPolicy'] ??= 'Always'
  spec['dnsPolicy'] ??= 'ClusterFirst'
  spec['schedulerName'] ??= 'default-scheduler'
  spec['terminationGracePeriodSeconds'] ??= 30
  spec['securityContext'] ??= {}
  for (const container of [...getList(spec, 'containers'), ...getList(spec, 'initContainers')]) {
    container['terminationMessagePath'] ??= '/dev/termination-log'
    container['terminationMessagePolicy'] ??= 'File'
    container['imagePullPolicy'] ??= 'IfNotPresent'
    container['resources'] ??= {}
    for (const port of getList(container, 'ports')) port['protocol'] ??= 'TCP'
  }
  for (const volume of getList(spec, 'volumes')) {
    for (const source of ['configMap', 'secret']) {
      if (volume[source] !== undefined) getObject(volume, source)['defaultMode'] ??= 420
    }
  }
}

/** Throws the error of the real server for an object that its type does not allow. */
export function checkBuiltIn(object: KubeObject, previous: KubeObject | undefined): void {
  for (const path of microTimes[object.kind] ?? []) {
    const value = getPath(object, path)
    if (value === undefined || value === null || (typeof value === 'string' && microTime.test(value))) continue
    throw new KubeError(
      'BadRequest',
      `${object.kind} cannot be handled: parsing time ${JSON.stringify(value)}: six decimals are required`,
    )
  }
  const causes = [...checkModel(object), ...checkChange(object, previous), ...checkKind(object)]
  if (causes.length > 0) throw createInvalidError(object.kind, object.metadata.name, causes)
}

function checkModel(object: KubeObject): ErrorCause[] {
  const Model = models[object.kind]
  if (Model === undefined) return []
  try {
    new Model(object as never).validate()
    return []
  } catch (error) {
    return [createCause('FieldValueInvalid', object.kind, (error as Error).message)]
  }
}

/** Fields that cannot change. */
const immutablePaths: Readonly<Record<string, readonly string[]>> = {
  Secret: ['.type'],
  Service: ['.spec.clusterIP'],
  RoleBinding: ['.roleRef'],
  Pod: ['.spec.containers', '.spec.volumes', '.spec.nodeName'],
  PersistentVolumeClaim: ['.spec.accessModes', '.spec.storageClassName', '.spec.volumeMode', '.spec.selector'],
}

const mutableOfStatefulSet = new Set([
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
])

function checkChange(object: KubeObject, previous: KubeObject | undefined): ErrorCause[] {
  if (previous === undefined) return []
  const changed = (immutablePaths[object.kind] ?? []).filter((path) => {
    const before = getPath(previous, path)
    return before !== undefined && !isEqual(before, getPath(object, path))
  })
  const causes = changed.map((path) => createCause('FieldValueInvalid', path.slice(1), 'field is immutable'))
  if (object.kind === 'StatefulSet') {
    const [before, after] = [getObject(previous, 'spec'), getObject(object, 'spec')]
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    if (names.some((name) => !mutableOfStatefulSet.has(name) && !isEqual(before[name], after[name]))) {
      causes.push(
        createCause(
          'FieldValueForbidden',
          'spec',
          `updates to statefulset spec for fields other than ${[...mutableOfStatefulSet].join(', ')} are forbidden`,
        ),
      )
    }
  }
  if (object.kind === 'PersistentVolumeClaim') {
    const path = '.spec.resources.requests.storage'
    if (parseQuantity(getPath(object, path)) < parseQuantity(getPath(previous, path))) {
      causes.push(createCause('FieldValueForbidden', path.slice(1), 'field can not be less than previous value'))
    }
  }
  return causes
}

function checkKind(object: KubeObject): ErrorCause[] {
  if (object.kind !== 'StatefulSet') return []
  const selector = getPath(object, '.spec.selector.matchLabels') ?? {}
  const labels = (getPath(object, '.spec.template.metadata.labels') ?? {}) as JsonObject
  if (Object.entries(selector).every(([key, value]) => labels[key] === value)) return []
  return [
    createCause('FieldValueInvalid', 'spec.template.metadata.labels', '`selector` does not match template `labels`'),
  ]
}
