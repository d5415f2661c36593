// The Service of the clients, and the headless one that names each pod.

import { nameObjects } from '../resource/cluster-names.ts'
import { listOpenPorts } from '../resource/open-ports.ts'
import {
  createObject,
  listSelectorLabels,
  omitEmpty,
  type KubernetesObject,
  type RenderContext,
} from './kubernetes-object.ts'

/** The Service N with the fields of the listener. */
export function renderService(context: RenderContext): KubernetesObject {
  const { metadata, spec } = context.cluster
  const listener = spec.emqxTemplate?.listener
  const options = {
    apiVersion: 'v1',
    kind: 'Service',
    name: nameObjects(metadata.name).service,
    labels: listener?.labels,
    annotations: listener?.annotations,
  }
  const type = listener?.type ?? 'ClusterIP'
  if (type === 'ExternalName')
    return createObject(context, options, { spec: { type, externalName: listener?.externalName ?? '' } })
  const isManaged = listener?.management !== 'inside'
  const ports = [...listOpenPorts(spec.emqxTemplate)].filter(
    ([name]) => isManaged || (name !== 'api' && name !== 'dashboard'),
  )
  const isBalanced = type === 'LoadBalancer'
  const address = listener?.loadBalancerIP ?? ''
  const content: Record<string, unknown> = {
    type,
    selector: listSelectorLabels(context.cluster),
    ports: ports.map(([name, port]) => {
      const nodePort = type === 'ClusterIP' ? 0 : (listener?.nodePorts?.[name] ?? 0)
      return { name, protocol: 'TCP', port, targetPort: name, ...(nodePort === 0 ? {} : { nodePort }) }
    }),
  }
  const externalIPs = omitEmpty(listener?.externalIPs)
  const ranges = omitEmpty(listener?.loadBalancerSourceRanges)
  if (externalIPs !== undefined) content['externalIPs'] = externalIPs
  if (listener?.externalTrafficPolicy !== undefined) content['externalTrafficPolicy'] = listener.externalTrafficPolicy
  if (isBalanced && address !== '') content['loadBalancerIP'] = address
  if (isBalanced && ranges !== undefined) content['loadBalancerSourceRanges'] = ranges
  return createObject(context, options, { spec: content })
}

/** Names each pod, also while it is not ready: the operator drains and restores such pods. */
export function renderHeadlessService(context: RenderContext): KubernetesObject {
  const { metadata, spec } = context.cluster
  const port = listOpenPorts(spec.emqxTemplate).get('api')
  const options = { apiVersion: 'v1', kind: 'Service', name: nameObjects(metadata.name).headless }
  return createObject(context, options, {
    spec: {
      type: 'ClusterIP',
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      selector: listSelectorLabels(context.cluster),
      ports: [{ name: 'api', protocol: 'TCP', port, targetPort: 'api' }],
    },
  })
}
