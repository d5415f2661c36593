// Fields that Kubernetes defines (`core/v1`, Kubernetes 1.35): only those that we check or render.

import {
  boolean,
  choice,
  integer,
  listOf,
  mapOf,
  object,
  openObject,
  optional,
  partlyOpen,
  quantity,
  required,
  text,
  withDefault,
} from './field-types.ts'
import {
  absolutePath,
  dataKey,
  dnsLabel,
  dnsName,
  environmentName,
  imageReference,
  labelValue,
  qualifiedName,
} from './text-forms.ts'

export const labelMap = mapOf(text({ form: labelValue, maxLength: 63 }), { keyForm: qualifiedName })

/** All annotations of an object together may have 256 KiB. */
export const annotationMap = mapOf(text({ maxLength: 262_144 }), { keyForm: qualifiedName })

export const pullPolicy = choice(['Always', 'IfNotPresent', 'Never'])

export const image = text({ form: imageReference, minLength: 1, maxLength: 512 })

const objectName = text({ form: dnsName, minLength: 1, maxLength: 253 })

export const pullSecrets = listOf(object({ name: required(objectName, 'Name of a Secret in the same namespace.') }), {
  maxItems: 16,
  itemName: 'reference',
})

const quantities = mapOf(quantity, { keyForm: qualifiedName, maxProperties: 32 })

export const resources = object({
  limits: optional(quantities, 'Maximum amount of each resource, such as cpu, memory and ephemeral-storage.'),
  requests: optional(quantities, 'Amount of each resource that is reserved. It is at most the limit.'),
})

const keyReference = object({
  name: required(objectName, 'Name of the object, in the same namespace.'),
  key: required(text({ form: dataKey, minLength: 1, maxLength: 253 }), 'Key in the object.'),
  optional: optional(boolean, 'Whether the pod starts without the object or without the key.'),
})

const environmentSource = object({
  configMapKeyRef: optional(keyReference, 'Key of a ConfigMap.'),
  secretKeyRef: optional(keyReference, 'Key of a Secret.'),
  fieldRef: optional(
    object({
      apiVersion: optional(text({ maxLength: 32 }), 'Version of the schema of the field; default v1.'),
      fieldPath: required(
        text({ minLength: 1 }),
        'Field of the pod: metadata.name, metadata.namespace, metadata.uid, metadata.labels[KEY], metadata.annotations[KEY], spec.nodeName, spec.serviceAccountName, status.hostIP, status.hostIPs, status.podIP or status.podIPs.',
      ),
    }),
    'Field of the pod.',
  ),
  resourceFieldRef: optional(
    object({
      containerName: optional(text({ form: dnsLabel, maxLength: 63 }), 'Container whose resources are meant.'),
      resource: required(text({ minLength: 1, maxLength: 253 }), 'Resource, such as limits.memory.'),
      divisor: optional(quantity, 'Unit of the value; default 1.'),
    }),
    'Resource of a container.',
  ),
})

export const environmentVariables = listOf(
  object({
    name: required(
      text({ form: environmentName, minLength: 1, maxLength: 256 }),
      'Name of the variable. GODWIT_A__B sets the setting a.b.',
    ),
    value: optional(text({ maxLength: 32_768 }), 'Value of the variable; default empty.'),
    valueFrom: optional(environmentSource, 'Source of the value. It is set only if value is empty.'),
  }),
  { maxItems: 128, key: 'name', itemName: 'variable' },
)

export const tolerations = listOf(
  object({
    key: optional(text({ form: qualifiedName, maxLength: 317 }), 'Key of the taint. Empty with Exists: every taint.'),
    operator: withDefault(choice(['Equal', 'Exists']), 'Equal', 'How key and value are compared with the taint.'),
    value: optional(text({ form: labelValue, maxLength: 63 }), 'Value of the taint; empty with Exists.'),
    effect: optional(
      choice(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
      'Effect of the taint. Absent: every effect.',
    ),
    tolerationSeconds: optional(
      integer({ format: 'int64' }),
      'Time for which NoExecute is tolerated, in seconds. Absent: for ever. Zero or negative: the pod is evicted at once.',
    ),
  }),
  { maxItems: 64, itemName: 'toleration' },
)

export const storage = object({
  accessModes: withDefault(
    listOf(choice(['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod']), { maxItems: 4 }),
    ['ReadWriteOnce'],
    'How the volume can be mounted.',
  ),
  selector: optional(openObject, 'Selector of labels of the volumes that can be bound.'),
  resources: optional(resources, 'Size of the volume: requests.storage.'),
  volumeName: optional(text({ form: dnsName, maxLength: 253 }), 'Name of the volume that is bound.'),
  storageClassName: optional(
    text({ maxLength: 253 }),
    'StorageClass of the volume. Absent: the default class. Empty: no class.',
  ),
  volumeMode: withDefault(
    choice(['Filesystem', 'Block']),
    'Filesystem',
    'Filesystem, in which the broker stores its data. Block is refused.',
  ),
})

export const extraVolumes = listOf(
  partlyOpen({ name: required(text({ form: dnsLabel, minLength: 1, maxLength: 63 }), 'Name of the volume.') }),
  { maxItems: 64, itemName: 'volume' },
)

export const extraVolumeMounts = listOf(
  object({
    mountPath: required(
      text({ form: absolutePath, minLength: 1 }),
      'Directory or file in the container. It contains no colon.',
    ),
    name: required(text({ form: dnsLabel, minLength: 1, maxLength: 63 }), 'Name of the volume.'),
    mountPropagation: optional(
      choice(['None', 'HostToContainer', 'Bidirectional']),
      'How mounts are propagated between the container and the node.',
    ),
    readOnly: withDefault(boolean, false, 'Whether the volume is mounted without write access.'),
    subPath: optional(text(), 'Path in the volume that is mounted.'),
    subPathExpr: optional(text(), 'The same with variables as $(NAME). It excludes subPath.'),
  }),
  { maxItems: 64, itemName: 'mount' },
)

/** What a container contains is checked by Kubernetes. */
export const containers = listOf(
  partlyOpen({ name: required(text({ form: dnsLabel, minLength: 1, maxLength: 63 }), 'Name of the container.') }),
  { maxItems: 16, key: 'name', itemName: 'container' },
)

const userId = integer({ format: 'int64', min: 0, max: 2_147_483_647 })

const profile = object({
  type: required(choice(['RuntimeDefault', 'Localhost', 'Unconfined']), 'Kind of the profile.'),
  localhostProfile: optional(text(), 'Profile on the node, if type is Localhost.'),
})

export const podSecurityContext = object({
  runAsUser: optional(userId, 'User of the processes; default 1000.'),
  runAsGroup: optional(userId, 'Group of the processes; default 1000.'),
  runAsNonRoot: optional(boolean, 'Whether containers of root are refused; default true.'),
  fsGroup: optional(userId, 'Group that owns the volumes; default 1000.'),
  fsGroupChangePolicy: optional(
    choice(['OnRootMismatch', 'Always']),
    'When the owner of the files of a volume is changed; default OnRootMismatch.',
  ),
  supplementalGroups: optional(listOf(userId, { maxItems: 32 }), 'Further groups of the processes.'),
  supplementalGroupsPolicy: optional(choice(['Merge', 'Strict']), 'Whether the groups of the image are added.'),
  seLinuxOptions: optional(
    object({
      level: optional(text(), 'SELinux level.'),
      role: optional(text(), 'SELinux role.'),
      type: optional(text(), 'SELinux type.'),
      user: optional(text(), 'SELinux user.'),
    }),
    'SELinux context of the containers.',
  ),
  seLinuxChangePolicy: optional(choice(['MountOption', 'Recursive']), 'How volumes get their SELinux label.'),
  seccompProfile: optional(profile, 'Filter of system calls; default RuntimeDefault.'),
  appArmorProfile: optional(profile, 'AppArmor profile.'),
  sysctls: optional(
    listOf(
      object({
        name: required(text({ minLength: 1, maxLength: 253 }), 'Name of the parameter.'),
        value: required(text({ maxLength: 253 }), 'Value of the parameter.'),
      }),
      { maxItems: 32, itemName: 'parameter' },
    ),
    'Parameters of the kernel for the pod.',
  ),
})

export const topologySpreadConstraints = listOf(
  object({
    maxSkew: required(integer({ min: 1 }), 'Maximum difference of the numbers of pods of two domains.'),
    topologyKey: required(text({ minLength: 1, maxLength: 317 }), 'Label of nodes whose values are the domains.'),
    whenUnsatisfiable: required(
      choice(['DoNotSchedule', 'ScheduleAnyway']),
      'What happens to a pod that cannot be placed so.',
    ),
    labelSelector: optional(openObject, 'Selector of the pods that are counted.'),
    matchLabelKeys: optional(listOf(text({ maxLength: 317 }), { maxItems: 16 }), 'Labels that must be equal.'),
    minDomains: optional(integer({ min: 1 }), 'Minimum number of domains.'),
    nodeAffinityPolicy: optional(choice(['Honor', 'Ignore']), 'Whether node affinity excludes nodes.'),
    nodeTaintsPolicy: optional(choice(['Honor', 'Ignore']), 'Whether taints exclude nodes.'),
  }),
  { maxItems: 16, itemName: 'constraint' },
)

export const networkPeers = listOf(
  object({
    ipBlock: optional(
      object({
        cidr: required(text({ minLength: 1, maxLength: 64 }), 'Network, such as 10.0.0.0/8.'),
        except: optional(listOf(text({ maxLength: 64 }), { maxItems: 32 }), 'Networks in it that are excluded.'),
      }),
      'Network.',
    ),
    namespaceSelector: optional(openObject, 'Selector of namespaces.'),
    podSelector: optional(openObject, 'Selector of pods.'),
  }),
  { maxItems: 32, itemName: 'peer' },
)

export const affinity = partlyOpen({})
