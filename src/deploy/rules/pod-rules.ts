// Rules about the pods: variables, resources, tolerations, labels, security, further containers.

import type { ClusterSpecDraft } from '../resource/cluster-fields.ts'
import { containerNames, reservedLabels, reservedVariables } from '../resource/cluster-names.ts'
import { parseQuantity } from '../resource/resource-quantities.ts'
import { isNetwork } from './addresses.ts'
import { defineRule, noViolation, ensure, toCelList, type ItemOf, type Rule, type Violation } from './rule.ts'

type Variable = ItemOf<ClusterSpecDraft['env']>
type Toleration = ItemOf<ClusterSpecDraft['tolerations']>
type Resources = NonNullable<ClusterSpecDraft['resources']>
type SecurityContext = NonNullable<ClusterSpecDraft['podSecurityContext']>
type Constraint = ItemOf<ClusterSpecDraft['topologySpreadConstraints']>
type Peer = ItemOf<NonNullable<ClusterSpecDraft['networkPolicy']>['from']>

const sources = ['configMapKeyRef', 'secretKeyRef', 'fieldRef', 'resourceFieldRef'] as const
const sourceCount = `[${sources.map((name) => `has(self.valueFrom.${name})`).join(', ')}].filter(s, s).size()`

/** Fields of a pod that a variable can have: https://kubernetes.io/docs/concepts/workloads/pods/downward-api/ */
const podFields =
  /^(?:metadata\.(?:name|namespace|uid|(?:labels|annotations)\['[^']+'\])|spec\.(?:nodeName|serviceAccountName)|status\.(?:hostIPs?|podIPs?))$/
const podFieldPattern =
  "^(metadata[.](name|namespace|uid|(labels|annotations)\\\\['[^']+'\\\\])|spec[.](nodeName|serviceAccountName)|status[.](hostIPs?|podIPs?))$"
const containerResources = /^(?:limits|requests)\.(?:cpu|memory|ephemeral-storage|hugepages-[^/]+)$/

const variableRules: readonly Rule[] = [
  defineRule<Variable>({
    at: 'spec.env[]',
    cel: `!(self.name in ${toCelList(reservedVariables)})`,
    message: 'the operator or the broker uses this variable',
    hint: 'use another name',
    check: ({ name = '' }) => ensure(!reservedVariables.includes(name), ['name']),
  }),
  defineRule<Variable>({
    at: 'spec.env[]',
    cel: "!has(self.valueFrom) || !has(self.value) || self.value == ''",
    message: 'a variable has either value or valueFrom',
    hint: 'remove one of them',
    check: ({ value = '', valueFrom }) => ensure(value === '' || valueFrom === undefined, ['valueFrom']),
  }),
  defineRule<Variable>({
    at: 'spec.env[]',
    cel: `!has(self.valueFrom) || ${sourceCount} == 1`,
    message: 'valueFrom has exactly one source',
    hint: `set one of ${sources.join(', ')}`,
    check: ({ valueFrom }) =>
      ensure(valueFrom === undefined || sources.filter((name) => valueFrom[name] !== undefined).length === 1, [
        'valueFrom',
      ]),
  }),
  defineRule<Variable>({
    at: 'spec.env[]',
    cel: `!has(self.valueFrom) || !has(self.valueFrom.fieldRef) || self.valueFrom.fieldRef.fieldPath.matches("${podFieldPattern}")`,
    message: 'a variable cannot have this field of a pod',
    hint: "use a field such as metadata.name, metadata.labels['KEY'] or status.podIP",
    check({ valueFrom }) {
      const path = valueFrom?.fieldRef?.fieldPath
      return ensure(path === undefined || podFields.test(path), ['valueFrom', 'fieldRef', 'fieldPath'])
    },
  }),
  defineRule<Variable>({
    at: 'spec.env[]',
    cel: undefined,
    message: 'a variable cannot have this resource of a container',
    hint: 'use a resource such as limits.memory or requests.cpu',
    check({ valueFrom }) {
      const resource = valueFrom?.resourceFieldRef?.resource
      return ensure(resource === undefined || containerResources.test(resource), [
        'valueFrom',
        'resourceFieldRef',
        'resource',
      ])
    },
  }),
]

const tolerationRules: readonly Rule[] = [
  defineRule<Toleration>({
    at: 'spec.tolerations[]',
    cel: "(has(self.key) && self.key != '') || self.operator == 'Exists'",
    message: 'a toleration without a key needs the operator Exists',
    hint: 'set key, or set operator to Exists',
    check: ({ key = '', operator }) =>
      operator === undefined ? noViolation : ensure(key !== '' || operator === 'Exists', ['key']),
  }),
  defineRule<Toleration>({
    at: 'spec.tolerations[]',
    cel: "self.operator != 'Exists' || !has(self.value) || self.value == ''",
    message: 'the operator Exists has no value',
    hint: 'remove value, or set operator to Equal',
    check: ({ operator, value = '' }) => ensure(operator !== 'Exists' || value === '', ['value']),
  }),
  defineRule<Toleration>({
    at: 'spec.tolerations[]',
    cel: "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
    message: 'tolerationSeconds is only for the effect NoExecute',
    hint: 'set effect to NoExecute, or remove tolerationSeconds',
    check: ({ tolerationSeconds, effect }) =>
      ensure(tolerationSeconds === undefined || effect === 'NoExecute', ['tolerationSeconds']),
  }),
]

const requestsAreLower =
  '!has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits) || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)'

const resourceRules: readonly Rule[] = ['spec.resources', 'spec.telegrafTemplate.resources'].map((at) =>
  defineRule<Resources>({
    at,
    cel: requestsAreLower,
    message: 'the request is higher than the limit',
    hint: 'lower the request, or raise the limit',
    check: ({ requests = {}, limits = {} }) =>
      Object.entries(requests).flatMap(([name, request]) => {
        const limit = Object.hasOwn(limits, name) ? limits[name] : undefined
        const [reserved, most] = [parseAmount(request), parseAmount(limit)]
        return ensure(reserved === undefined || most === undefined || reserved <= most, ['requests', name])
      }),
  }),
)

function parseAmount(quantity: string | number | undefined): bigint | undefined {
  return quantity === undefined ? undefined : parseQuantity(quantity)
}

const celReservedLabels = toCelList(reservedLabels)

const labelRules: readonly Rule[] = ['spec', 'spec.emqxTemplate.listener', 'spec.podMonitor'].map((at) =>
  defineRule<{ readonly labels?: Readonly<Record<string, unknown>> | undefined }>({
    at,
    cel: `!has(self.labels) || ${celReservedLabels}.all(k, !(k in self.labels))`,
    message: 'the operator sets this label',
    hint: 'use another key',
    check: ({ labels = {} }) => reservedLabels.flatMap((key) => ensure(!Object.hasOwn(labels, key), ['labels', key])),
  }),
)

/** Of all annotations of an object together. */
const maxAnnotationBytes = 262_144
/** The operator has an annotation as well. */
const ownAnnotationBytes = 256

const annotationRules: readonly Rule[] = ['spec', 'spec.emqxTemplate.listener'].map((at) =>
  defineRule<{ readonly annotations?: Readonly<Record<string, string | undefined>> | undefined }>({
    at,
    cel: undefined,
    message: `the annotations have more than ${maxAnnotationBytes} bytes`,
    hint: 'write fewer or shorter ones',
    check({ annotations = {} }) {
      const bytes = Object.entries(annotations).reduce(
        (sum, [key, value = '']) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
        ownAnnotationBytes,
      )
      return ensure(bytes <= maxAnnotationBytes, ['annotations'])
    },
  }),
)

const securityRules: readonly Rule[] = (['seccompProfile', 'appArmorProfile'] as const).map((name) =>
  defineRule<SecurityContext>({
    at: 'spec.podSecurityContext',
    cel: `!has(self.${name}) || (self.${name}.type == 'Localhost') == has(self.${name}.localhostProfile)`,
    message: 'localhostProfile and the type Localhost need each other',
    hint: 'set both, or neither',
    check(context) {
      const profile = context[name]
      if (profile?.type === undefined) return noViolation
      return ensure((profile.type === 'Localhost') === (profile.localhostProfile !== undefined), [
        name,
        'localhostProfile',
      ])
    },
  }),
)

const spreadRules: readonly Rule[] = [
  defineRule<Constraint>({
    at: 'spec.topologySpreadConstraints[]',
    cel: "!has(self.minDomains) || self.whenUnsatisfiable == 'DoNotSchedule'",
    message: 'minDomains is only for DoNotSchedule',
    hint: 'set whenUnsatisfiable to DoNotSchedule, or remove minDomains',
    check: ({ minDomains, whenUnsatisfiable }) =>
      ensure(minDomains === undefined || whenUnsatisfiable !== 'ScheduleAnyway', ['minDomains']),
  }),
]

const peerRules: readonly Rule[] = [
  defineRule<Peer>({
    at: 'spec.networkPolicy.from[]',
    cel: 'has(self.ipBlock) != (has(self.namespaceSelector) || has(self.podSelector))',
    message: 'a peer has either ipBlock or selectors',
    hint: 'set ipBlock, or namespaceSelector and podSelector',
    check: ({ ipBlock, namespaceSelector, podSelector }) =>
      ensure((ipBlock !== undefined) !== (namespaceSelector !== undefined || podSelector !== undefined), []),
  }),
  defineRule<Peer>({
    at: 'spec.networkPolicy.from[]',
    cel: undefined,
    message: 'this is not a network',
    hint: 'write a network such as 10.0.0.0/8',
    check: ({ ipBlock }) => [
      ...ensure(ipBlock?.cidr === undefined || isNetwork(ipBlock.cidr), ['ipBlock', 'cidr']),
      ...(ipBlock?.except ?? []).flatMap((network, index) =>
        ensure(network === undefined || isNetwork(network), ['ipBlock', 'except', index]),
      ),
    ],
  }),
]

const ownContainers: readonly string[] = Object.values(containerNames)

const containerRules: readonly Rule[] = [
  ...['spec.extraContainers[]', 'spec.initContainers[]'].map((at) =>
    defineRule<{ readonly name?: string | undefined }>({
      at,
      cel: `!(self.name in ${toCelList(ownContainers)})`,
      message: 'a container of the cluster has this name',
      hint: 'use another name',
      check: ({ name = '' }) => ensure(!ownContainers.includes(name), ['name']),
    }),
  ),
  defineRule<ClusterSpecDraft>({
    at: 'spec',
    cel: '!has(self.extraContainers) || !has(self.initContainers) || self.extraContainers.all(c, !self.initContainers.exists(i, i.name == c.name))',
    message: 'another container has this name',
    hint: 'use another name',
    check({ extraContainers = [], initContainers = [] }) {
      const names = new Set(extraContainers.map((container) => container?.name))
      return initContainers.flatMap((container, index): readonly Violation[] =>
        ensure(container?.name === undefined || !names.has(container.name), ['initContainers', index, 'name']),
      )
    },
  }),
  defineRule<ClusterSpecDraft>({
    at: 'spec',
    cel: undefined,
    message: 'the container has no image',
    hint: 'set image',
    check: ({ extraContainers = [], initContainers = [] }) =>
      Object.entries({ extraContainers, initContainers }).flatMap(([list, containers]) =>
        containers.flatMap((container, index) => {
          const image = (container as { readonly image?: unknown } | undefined)?.image
          return ensure(container === undefined || (typeof image === 'string' && image !== ''), [list, index, 'image'])
        }),
      ),
  }),
]

export const podRules: readonly Rule[] = [
  ...variableRules,
  ...tolerationRules,
  ...resourceRules,
  ...labelRules,
  ...annotationRules,
  ...securityRules,
  ...spreadRules,
  ...peerRules,
  ...containerRules,
]
