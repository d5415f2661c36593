// Names of the objects of a cluster, and of what is in its pods.

/** Group of our own resources, and the group of EMQX whose resources are accepted as well. */
export const ownGroup = 'apps.godwit.io'
export const emqxGroup = 'apps.emqx.io'
export const resourceVersion = 'v1beta2'

/** A pod of a StatefulSet has the label `controller-revision-hash`: the name, a hyphen and up to 10 characters, at most 63 in all. */
export const maxNameCharacters = 52

/** Labels that the operator sets: no label of a user has their keys. */
export const labelKeys = {
  name: 'app.kubernetes.io/name',
  instance: 'app.kubernetes.io/instance',
  managedBy: 'app.kubernetes.io/managed-by',
  own: `${ownGroup}/instance`,
  emqx: `${emqxGroup}/instance`,
} as const

export const reservedLabels: readonly string[] = Object.values(labelKeys)

export const restartHashAnnotation = `${ownGroup}/restart-hash`

export const containerNames = { broker: 'godwit', telegraf: 'telegraf' } as const

/** Volumes of the pods. */
export const volumeNames = {
  data: 'data',
  log: 'log',
  tmp: 'tmp',
  config: 'config',
  acl: 'acl',
  mqtts: 'mqtts-cert',
  wss: 'wss-cert',
  telegraf: 'telegraf-config',
  operator: 'operator',
} as const

export const reservedVolumes: readonly string[] = Object.values(volumeNames)

/** Directories in the containers. */
export const directories = {
  data: '/var/lib/godwit',
  log: '/var/log/godwit',
  tmp: '/tmp',
  config: '/etc/godwit/config',
  acl: '/etc/godwit/acl',
  mqtts: '/etc/godwit/certs/mqtts',
  wss: '/etc/godwit/certs/wss',
  operator: '/etc/godwit/operator',
  telegraf: '/etc/telegraf',
} as const

/** Directories in the container of the broker. */
export const reservedDirectories: readonly string[] = Object.entries(directories)
  .filter(([name]) => name !== 'telegraf')
  .map(([, directory]) => directory)

/** Keys of ConfigMaps and Secrets, which are the names of the files. */
export const fileNames = {
  config: 'godwit.conf',
  acl: 'acl.conf',
  telegraf: 'telegraf.conf',
  certificate: 'tls.crt',
  key: 'tls.key',
  authorities: 'ca.crt',
  operatorPublicKey: 'public-key.pem',
  operatorPrivateKey: 'private-key.pem',
} as const

/** Variables that the operator sets in the container of the broker. */
export const ownVariables = {
  podName: 'POD_NAME',
  podNamespace: 'POD_NAMESPACE',
  podAddress: 'POD_IP',
  adminUsername: 'GODWIT_ADMIN_USERNAME',
  adminPassword: 'GODWIT_ADMIN_PASSWORD',
} as const

/** Variables that no user sets: those above, and those that `godwit` reads as options. */
export const reservedVariables: readonly string[] = [...Object.values(ownVariables), 'GODWIT_CONFIG', 'GODWIT_DATA']

/** Returns the names of the objects of the cluster `name`. */
export function nameObjects(name: string) {
  return {
    statefulSet: name,
    service: name,
    headless: `${name}-headless`,
    config: `${name}-config`,
    acl: `${name}-acl`,
    mqtts: `${name}-mqtts-cert`,
    wss: `${name}-wss-cert`,
    telegraf: `${name}-telegraf`,
    admin: `${name}-admin`,
    operator: `${name}-operator`,
    disruptionBudget: name,
    networkPolicy: name,
    podMonitor: name,
  } as const
}
