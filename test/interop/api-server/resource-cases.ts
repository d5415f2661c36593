// Resources and changes, good and bad, that the API server can decide about. Rules that only godwit knows are not among them.

export interface ResourceCase {
  readonly kind: string
  readonly object: object
  readonly previous?: object
}

const listen = (fields: object): object => ({ emqxTemplate: { listener: fields } })
const specs: readonly object[] = [
  {},
  { replicas: -1 },
  { replicas: '3' },
  { image: '' },
  { image: 'Has Spaces' },
  { imagePullPolicy: 'x' },
  { labels: { a: true } },
  { affinity: 'x' },
  listen({ ports: { mqtt: 65536 } }),
  listen({ ports: { mqtt: 1883, ws: 1883 } }),
  listen({ ports: { mqtt: 8081 } }),
  listen({ ports: { mqtt: 0 } }),
  listen({ ports: { api: 8081 } }),
  listen({ ports: { mqtts: 8883 } }),
  listen({ ports: {} }),
  listen({ ports: { mqtt: 1 } }),
  listen({ nodePorts: { mqtt: 31883 } }),
  listen({ nodePorts: { mqtt: 0 } }),
  listen({ type: 'NodePort', nodePorts: { mqtt: 1883 } }),
  listen({ type: 'NodePort', nodePorts: { mqtt: 31883, ws: 31883 } }),
  listen({ type: 'NodePort', ports: { mqtt: 1883 }, nodePorts: { ws: 31883 } }),
  listen({ type: 'NodePort', nodePorts: { mqtt: 31883 } }),
  listen({ loadBalancerSourceRanges: ['10.0.0.0/8'] }),
  listen({ type: 'ExternalName' }),
  listen({ externalName: 'a.example' }),
  listen({ type: 'ExternalName', externalName: 'a.example' }),
  listen({ externalTrafficPolicy: 'Local' }),
  listen({ labels: { 'app.kubernetes.io/name': 'x' } }),
  listen({ labels: { x: 'y' } }),
  listen({ certificate: { wss: { secretName: 'a' } }, ports: { wss: 443 } }),
  listen({ certificate: { mqtts: { secretName: 'a', stringData: { 'tls.cert': 'x' } } } }),
  { tolerations: [{ value: 'a' }] },
  { tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] },
  { tolerations: [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 1 }] },
  { tolerations: [{ key: 'a', effect: 'NoExecute', tolerationSeconds: -5 }, { operator: 'Exists' }] },
  { toleRations: [{ operator: 'Exists' }] },
  { toleRations: [{ value: 'x' }] },
  { tolerations: [{ operator: 'Exists' }], toleRations: [{ operator: 'Exists' }] },
  { tolerations: [], toleRations: [{ operator: 'Exists' }] },
  { podSecurityContext: { runAsUser: 1 }, securityContext: { runAsUser: 1 } },
  { podSecurityContext: { runAsUser: 1 }, securityContext: { runAsUser: 2 } },
  { env: [{ value: 'x' }] },
  { env: [{ name: 'A=B' }] },
  { env: [{ name: 'A' }, { name: 'A' }] },
  { env: [{ name: 'A', value: 'x', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }] },
  { env: [{ name: 'A', value: '', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }] },
  { env: [{ name: 'A', valueFrom: {} }] },
  {
    env: [
      { name: 'A', valueFrom: { secretKeyRef: { name: 'a', key: 'b' }, fieldRef: { fieldPath: 'metadata.name' } } },
    ],
  },
  { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.image' } } }] },
  { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['a/b']" } } }] },
  { env: [{ name: 'POD_NAME' }] },
  { env: [{ name: 'A b' }] },
  {
    extraVolumes: [
      { name: 'a', emptyDir: {} },
      { name: 'a', emptyDir: {} },
    ],
  },
  { extraVolumes: [{ name: 'data', emptyDir: {} }] },
  { extraVolumes: [{ name: 'a', emptyDir: {} }], extraVolumeMounts: [{ name: 'a', mountPath: '/x', subPath: '../a' }] },
  {
    extraVolumes: [{ name: 'a', emptyDir: {} }],
    extraVolumeMounts: [
      { name: 'a', mountPath: '/x' },
      { name: 'a', mountPath: '/x' },
    ],
  },
  { extraVolumes: [{ name: 'a', emptyDir: {} }], extraVolumeMounts: [{ name: 'b', mountPath: '/x' }] },
  { extraVolumes: [{ name: 'a', emptyDir: {} }], extraVolumeMounts: [{ name: 'a', mountPath: '/tmp' }] },
  {
    extraVolumes: [{ name: 'a', emptyDir: {} }],
    extraVolumeMounts: [{ name: 'a', mountPath: '/x', subPath: 'a', subPathExpr: 'b' }],
  },
  { extraVolumes: [{ name: 'a', emptyDir: {} }], extraVolumeMounts: [{ name: 'a', mountPath: '/x/../y' }] },
  { extraVolumes: [{ name: 'a', emptyDir: {} }], extraVolumeMounts: [{ name: 'a', mountPath: '/x:y' }] },
  { storage: {} },
  { storage: { resources: { requests: { storage: '1Gi' } } } },
  { storage: { volumeMode: 'Block', resources: { requests: { storage: '1Gi' } } } },
  { storage: { resources: { requests: { storage: 5 } } } },
  { resources: { requests: { memory: '2Gi' }, limits: { memory: '1G' } } },
  { resources: { requests: { cpu: 1 }, limits: { cpu: '999m' } } },
  { resources: { requests: { cpu: 1 }, limits: { cpu: '1000m' } } },
  { resources: { limits: { cpu: 'x' } } },
  { resources: { limits: { cpu: '-1' } } },
  { labels: { 'apps.godwit.io/instance': 'x' } },
  { labels: { a: 'b'.repeat(64) } },
  { podMonitor: { labels: { 'app.kubernetes.io/name': 'x' } } },
  { emqxTemplate: { acl: [{}] } },
  { emqxTemplate: { acl: [{ permission: 'maybe' }] } },
  { emqxTemplate: { plugins: [{ name: 'a' }, { name: 'a' }] } },
  {
    emqxTemplate: {
      modules: [
        { name: 'retainer', configs: '{}' },
        { name: 'presence', configs: { a: 1 } },
      ],
    },
  },
  { telegrafTemplate: { image: 'telegraf' } },
  { telegrafTemplate: { image: 'telegraf', conf: 'x' } },
  { telegrafTemplate: { image: 'telegraf', conf: 'x', config: 'y' } },
  { extraContainers: [{ name: 'godwit', image: 'a' }] },
  { extraContainers: [{ name: 'a', image: 'a' }], initContainers: [{ name: 'a', image: 'a' }] },
  { podSecurityContext: { seccompProfile: { type: 'Localhost' } } },
  { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'a', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 }] },
  { networkPolicy: { from: [{}] } },
  { networkPolicy: { from: [{ podSelector: {} }] } },
  { podDisruptionBudget: { maxUnavailable: '50%' } },
]
const claim = (size: string, more: object = {}): object => ({
  storage: { resources: { requests: { storage: size } }, ...more },
})
const changes: readonly (readonly [before: object, after: object])[] = [
  [{ imagePullPolicy: 'Always' }, {}],
  [{ imagePullPolicy: 'Always' }, { imagePullPolicy: 'Never' }],
  [{}, { imagePullPolicy: 'Never' }],
  [{}, claim('1Gi')],
  [claim('1Gi'), {}],
  [claim('1Gi'), claim('2Gi')],
  [claim('2Gi'), claim('2048Mi')],
  [claim('2Gi'), claim('1Gi')],
  [claim('1Gi', { storageClassName: 'a' }), claim('1Gi', { storageClassName: 'b' })],
  [claim('1Gi'), claim('1Gi', { accessModes: ['ReadWriteOnce'] })],
]
const createCluster = (spec: object, metadata: object = { name: 'plant' }): object => ({
  apiVersion: 'apps.godwit.io/v1beta2',
  kind: 'GodwitCluster',
  metadata,
  spec: { image: 'godwit:1', ...spec },
})
const cases: ResourceCase[] = []
for (const s of specs) cases.push({ kind: 'GodwitCluster', object: createCluster(s) })
for (const n of ['a'.repeat(53), 'a.b', 'a'.repeat(52)])
  cases.push({ kind: 'GodwitCluster', object: createCluster({}, { name: n }) })
for (const [b, a] of changes)
  cases.push({ kind: 'GodwitCluster', object: createCluster(a), previous: createCluster(b) })
const createResource = (kind: string, spec: object): object => ({
  apiVersion: 'apps.godwit.io/v1beta2',
  kind,
  metadata: { name: 'a' },
  spec,
})
const pvc = { claimName: 'b' },
  s3 = { endpoint: 'https://s3.example', bucket: 'backups', credentialsSecret: 'a' }
for (const s of [
  { clusterName: 'p', pvc },
  { clusterName: 'p', s3 },
  { clusterName: 'p' },
  { clusterName: 'p', pvc, s3 },
  { pvc },
])
  cases.push({ kind: 'GodwitBackup', object: createResource('GodwitBackup', s) })
const restore = { clusterName: 'a', backupName: 'x.tar.gz', pvc }
cases.push(
  {
    kind: 'GodwitRestore',
    object: createResource('GodwitRestore', restore),
    previous: createResource('GodwitRestore', restore),
  },
  {
    kind: 'GodwitRestore',
    object: createResource('GodwitRestore', { ...restore, dryRun: true }),
    previous: createResource('GodwitRestore', restore),
  },
  { kind: 'GodwitRestore', object: createResource('GodwitRestore', { ...restore, backupName: '../x.tar.gz' }) },
)

export const resourceCases: readonly ResourceCase[] = cases
