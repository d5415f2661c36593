// Objects that limit what others do to the pods: PodDisruptionBudget, NetworkPolicy; and PodMonitor.

import { nameObjects } from '../resource/cluster-names.ts'
import { listOpenPorts } from '../resource/open-ports.ts'
import {
  createObject,
  listSelectorLabels,
  omitEmpty,
  type KubernetesObject,
  type RenderContext,
} from './kubernetes-object.ts'

/** One for a single broker would prevent that its node is drained. */
export function renderDisruptionBudget(context: RenderContext): readonly KubernetesObject[] {
  const { metadata, spec } = context.cluster
  const { enabled = true, maxUnavailable = 1 } = spec.podDisruptionBudget ?? {}
  if (!enabled || spec.replicas <= 1) return []
  const options = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    name: nameObjects(metadata.name).disruptionBudget,
  }
  const selector = { matchLabels: listSelectorLabels(context.cluster) }
  return [createObject(context, options, { spec: { maxUnavailable, selector } })]
}

/** Clients reach their ports from everywhere; the ports api and dashboard are for the named peers only. */
export function renderNetworkPolicy(context: RenderContext): readonly KubernetesObject[] {
  const { metadata, spec } = context.cluster
  const policy = spec.networkPolicy
  if (policy?.enabled !== true) return []
  const options = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    name: nameObjects(metadata.name).networkPolicy,
  }
  const ports = [...listOpenPorts(spec.emqxTemplate)]
  const select = (isManagement: boolean) =>
    ports
      .filter(([name]) => (name === 'api' || name === 'dashboard') === isManagement)
      .map(([, port]) => ({ protocol: 'TCP', port }))
  const peers = omitEmpty(policy.from)
  const ingress = [{ ports: select(false) }, ...(peers === undefined ? [] : [{ from: peers, ports: select(true) }])]
  return [
    createObject(context, options, {
      spec: { podSelector: { matchLabels: listSelectorLabels(context.cluster) }, policyTypes: ['Ingress'], ingress },
    }),
  ]
}

/** For the operator of Prometheus. */
export function renderPodMonitor(context: RenderContext): readonly KubernetesObject[] {
  const { metadata, spec } = context.cluster
  const monitor = spec.podMonitor
  if (monitor?.enabled !== true) return []
  const names = nameObjects(metadata.name)
  const options = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PodMonitor',
    name: names.podMonitor,
    labels: monitor.labels,
  }
  const basicAuth = {
    username: { name: names.admin, key: 'username' },
    password: { name: names.admin, key: 'password' },
  }
  const endpoint = { port: 'api', path: '/api/v4/prometheus', interval: monitor.interval, basicAuth }
  const selector = { matchLabels: listSelectorLabels(context.cluster) }
  return [createObject(context, options, { spec: { selector, podMetricsEndpoints: [endpoint] } })]
}
