// Rules about `spec.emqxTemplate.listener`.

import { portNames, type PortName } from '../resource/broker-template-fields.ts'
import { listOpenPorts, resolvePorts, type ListenerDraft } from '../resource/open-ports.ts'
import { isAddress, isNetwork } from './addresses.ts'
import { defineRule, noViolation, ensure, type Rule, type Violation } from './rule.ts'

const at = 'spec.emqxTemplate.listener'

const readNumber = (name: PortName, list = 'ports'): string => `(has(self.${list}.${name}) ? self.${list}.${name} : 0)`
/** The numbers of all ports in CEL; 8081 if that of the API is absent or 0. */
const writtenNumbers = `[${portNames
  .map((name) => (name === 'api' ? `(${readNumber(name)} > 0 ? ${readNumber(name)} : 8081)` : readNumber(name)))
  .join(', ')}].filter(p, p > 0)`
const nodeNumbers = `[${portNames.map((name) => readNumber(name, 'nodePorts')).join(', ')}].filter(p, p > 0)`
const isAnyPortGiven = `(has(self.ports) && (${portNames.map((name) => `has(self.ports.${name})`).join(' || ')}))`
const hasCertificateOf = (name: string): string =>
  `(has(self.certificate) && has(self.certificate.${name}) && (has(self.certificate.${name}.secretName) || has(self.certificate.${name}.data) || has(self.certificate.${name}.stringData)))`

function findDuplicates(numbers: ReadonlyMap<PortName, number>, list: string): Violation[] {
  const first = new Map<number, PortName>()
  const found: Violation[] = []
  for (const [name, number] of numbers) {
    const other = first.get(number)
    if (other === undefined) first.set(number, name)
    else found.push({ path: [list, name], message: `${number} is the number of ${other} as well` })
  }
  return found
}

function listNodePorts({ nodePorts }: ListenerDraft): ReadonlyMap<PortName, number> {
  return new Map(
    portNames.flatMap((name): [PortName, number][] => {
      const number = nodePorts?.[name] ?? 0
      return number > 0 ? [[name, number]] : []
    }),
  )
}

export const listenerRules: readonly Rule[] = [
  defineRule<ListenerDraft>({
    at,
    cel: `!has(self.ports) || ${writtenNumbers}.all(p, ${writtenNumbers}.exists_one(q, q == p))`,
    message: 'two ports have the same number',
    hint: 'give each port its own number; api is 8081 unless it is set',
    check: (listener) => findDuplicates(resolvePorts(listener), 'ports'),
  }),
  defineRule<ListenerDraft>({
    at,
    cel: `!${isAnyPortGiven} || ${readNumber('mqtt')} > 0 || ${readNumber('ws')} > 0 || (${readNumber('mqtts')} > 0 && ${hasCertificateOf('mqtts')}) || (${readNumber('wss')} > 0 && (${hasCertificateOf('wss')} || ${hasCertificateOf('mqtts')}))`,
    message: 'no port for MQTT is opened',
    hint: 'set mqtt or ws, or mqtts or wss with a certificate',
    check(listener) {
      const open = listOpenPorts({ listener })
      return ensure(
        (['mqtt', 'mqtts', 'ws', 'wss'] as const).some((name) => open.has(name)),
        ['ports'],
      )
    },
  }),
  defineRule<ListenerDraft>({
    at,
    cel: `!has(self.nodePorts) || self.type in ['NodePort', 'LoadBalancer'] || ${nodeNumbers}.size() == 0`,
    message: 'nodePorts are only for the types NodePort and LoadBalancer',
    hint: 'set type to NodePort, or remove nodePorts',
    check: (listener) =>
      ensure(listener.type === undefined || isReachedByNodes(listener) || listNodePorts(listener).size === 0, [
        'nodePorts',
      ]),
  }),
  defineRule<ListenerDraft>({
    at,
    cel: `!has(self.nodePorts) || ${nodeNumbers}.all(p, p >= 30000 && p <= 32767)`,
    message: 'the port of the nodes is not in the range of Kubernetes',
    hint: 'use a number from 30000 to 32767',
    check: (listener) =>
      [...listNodePorts(listener)].flatMap(([name, number]) =>
        ensure(number >= 30_000 && number <= 32_767, ['nodePorts', name]),
      ),
  }),
  defineRule<ListenerDraft>({
    at,
    cel: `!has(self.nodePorts) || ${nodeNumbers}.all(p, ${nodeNumbers}.exists_one(q, q == p))`,
    message: 'two ports of the nodes have the same number',
    hint: 'give each its own number',
    check: (listener) => findDuplicates(listNodePorts(listener), 'nodePorts'),
  }),
  defineRule<ListenerDraft>({
    at,
    cel: `!has(self.nodePorts) || !${isAnyPortGiven} || (${portNames
      .filter((name) => name !== 'api')
      .map((name) => `(${readNumber(name, 'nodePorts')} == 0 || ${readNumber(name)} > 0)`)
      .join(' && ')})`,
    message: 'there is no such port',
    hint: 'set the port in ports as well, or remove it from nodePorts',
    check(listener) {
      const ports = resolvePorts(listener)
      return [...listNodePorts(listener).keys()].flatMap((name) => ensure(ports.has(name), ['nodePorts', name]))
    },
  }),
  defineRule<ListenerDraft>({
    at,
    cel: "!has(self.loadBalancerSourceRanges) || self.loadBalancerSourceRanges.size() == 0 || self.type == 'LoadBalancer'",
    message: 'source ranges are only for the type LoadBalancer',
    hint: 'set type to LoadBalancer, or remove loadBalancerSourceRanges',
    check: ({ loadBalancerSourceRanges: ranges = [], type }) =>
      ensure(ranges.length === 0 || type === undefined || type === 'LoadBalancer', ['loadBalancerSourceRanges']),
  }),
  defineRule<ListenerDraft>({
    at,
    cel: undefined,
    message: 'this is not a network',
    hint: 'write a network such as 10.0.0.0/8',
    check: ({ loadBalancerSourceRanges: ranges = [] }) =>
      ranges.flatMap((range, index) =>
        ensure(range === undefined || isNetwork(range), ['loadBalancerSourceRanges', index]),
      ),
  }),
  defineRule<ListenerDraft>({
    at,
    cel: undefined,
    message: 'this is not an IP address',
    hint: 'write an address such as 192.0.2.10',
    check: ({ externalIPs = [], loadBalancerIP = '' }) => [
      ...externalIPs.flatMap((address, index) =>
        ensure(address === undefined || isAddress(address), ['externalIPs', index]),
      ),
      ...ensure(loadBalancerIP === '' || isAddress(loadBalancerIP), ['loadBalancerIP']),
    ],
  }),
  defineRule<ListenerDraft>({
    at,
    cel: "(self.type == 'ExternalName') == (has(self.externalName) && self.externalName != '')",
    message: 'externalName and the type ExternalName need each other',
    hint: 'set both, or neither',
    check: ({ type, externalName = '' }) =>
      type === undefined ? noViolation : ensure((type === 'ExternalName') === (externalName !== ''), ['externalName']),
  }),
  defineRule<ListenerDraft>({
    at,
    cel: "!has(self.externalTrafficPolicy) || self.type in ['NodePort', 'LoadBalancer']",
    message: 'externalTrafficPolicy is only for the types NodePort and LoadBalancer',
    hint: 'set type to NodePort or LoadBalancer, or remove externalTrafficPolicy',
    check: (listener) =>
      ensure(
        listener.externalTrafficPolicy === undefined || listener.type === undefined || isReachedByNodes(listener),
        ['externalTrafficPolicy'],
      ),
  }),
]

function isReachedByNodes({ type }: ListenerDraft): boolean {
  return type === 'NodePort' || type === 'LoadBalancer'
}
