// Warnings about a cluster: what is valid, but may not do what is expected.

import type { FaultList } from '../documents/fault-list.ts'
import type { ClusterSpecDraft } from '../resource/cluster-fields.ts'
import { findCertificateOwner, resolvePorts, type ListenerDraft } from '../resource/open-ports.ts'

/** Adds the warnings that depend on the fields only. */
export function warnOfCluster(spec: ClusterSpecDraft, list: FaultList): void {
  const { emqxTemplate: template, replicas = 0 } = spec
  const license = template?.license ?? ''
  if (license !== '')
    list.addWarning(['spec', 'emqxTemplate', 'license'], 'the license has no effect', 'remove it: Godwit needs none')
  if (spec.storage === undefined)
    list.addWarning(['spec'], 'there is no storage: data is lost when a pod is deleted', 'set storage to a claim')
  if (spec.nodeName !== undefined && spec.nodeName !== '' && replicas > 1)
    list.addWarning(['spec', 'nodeName'], 'all brokers run on one node', 'use affinity or nodeSelector')
  if (replicas > 1)
    list.addWarning(
      ['spec', 'replicas'],
      'the brokers do not form a cluster: a client sees only the messages and sessions of its broker',
      'set replicas to 1, or connect the brokers by bridges',
    )
  warnOfListener(template?.listener, list)
}

function warnOfListener(listener: ListenerDraft | undefined, list: FaultList): void {
  const path = ['spec', 'emqxTemplate', 'listener']
  const ports = resolvePorts(listener)
  for (const name of ['mqtts', 'wss'] as const) {
    // Default ports are no mistake.
    if (listener?.ports?.[name] === undefined || !ports.has(name)) continue
    if (findCertificateOwner(listener, name) === undefined)
      list.addWarning(
        [...path, 'ports', name],
        'the port is not opened: it has no certificate',
        `set certificate.${name}, or remove the port`,
      )
  }
  if (listener === undefined) return
  const isBalanced = listener.type === 'LoadBalancer'
  if ((listener.loadBalancerIP ?? '') !== '' && !isBalanced)
    list.addWarning(
      [...path, 'loadBalancerIP'],
      'loadBalancerIP has no effect with this type',
      'set type to LoadBalancer, or remove it',
    )
  if (isBalanced && listener.management !== 'inside' && (listener.loadBalancerSourceRanges ?? []).length === 0)
    list.addWarning(
      [...path, 'type'],
      'the management API can be reached from outside',
      'set management to inside, or set loadBalancerSourceRanges',
    )
}
