// All objects of a cluster. The same resource gives the same objects in the same order.

import type { ClusterResource } from '../read-resource.ts'
import { fileNames, nameObjects } from '../resource/cluster-names.ts'
import { mergeCertificate } from '../certificates/check-certificates.ts'
import { createObject, type KubernetesObject, type OwnerReference, type RenderContext } from './kubernetes-object.ts'
import { renderHeadlessService, renderService } from './render-services.ts'
import { renderStatefulSet } from './render-stateful-set.ts'
import { renderDisruptionBudget, renderNetworkPolicy, renderPodMonitor } from './render-policies.ts'
import { sortKeys } from './kubernetes-object.ts'

/** Secrets that are made once, at random. */
export interface ClusterSecrets {
  readonly adminUsername: string
  readonly adminPassword: string
  /** PEM. The operator signs its requests with it. */
  readonly operatorPrivateKey: string
  readonly operatorPublicKey: string
}

export interface RenderOptions {
  /** In place of the namespace of the resource. Undefined for both: the objects name none. */
  readonly namespace?: string | undefined
  /** Undefined: the objects have no owner. */
  readonly owner?: OwnerReference | undefined
  /** Undefined: the Secrets N-admin and N-operator are not rendered. */
  readonly secrets?: ClusterSecrets | undefined
  /** Returns the SHA-256 of a text in hexadecimal. */
  hashText(this: void, text: string): string
  /** First ordinal that gets a new revision; default 0. */
  readonly partition?: number | undefined
}

/** Renders the objects in an order in which they can be created: what pods need comes before the pods. */
export function renderCluster(cluster: ClusterResource, options: RenderOptions): readonly KubernetesObject[] {
  const namespace = options.namespace ?? cluster.metadata.namespace
  const context: RenderContext = { cluster, namespace, owner: options.owner }
  const stateful = { hashText: options.hashText, partition: options.partition ?? 0 }
  return [
    renderServiceAccount(context),
    ...renderSecrets(context, options.secrets),
    ...renderConfigMaps(context),
    renderHeadlessService(context),
    renderService(context),
    renderStatefulSet(context, stateful),
    ...renderDisruptionBudget(context),
    ...renderNetworkPolicy(context),
    ...renderPodMonitor(context),
  ]
}

/** An existing one is neither changed nor owned: a user may have given it rights. Pods need none. */
function renderServiceAccount(context: RenderContext): KubernetesObject {
  const { spec, metadata } = context.cluster
  const name = getServiceAccountName(spec.serviceAccountName, metadata.name)
  const options = { apiVersion: 'v1', kind: 'ServiceAccount', name, isOwned: false }
  return createObject(context, options, { automountServiceAccountToken: false })
}

/** Returns the ServiceAccount of the pods. */
export function getServiceAccountName(written: string | undefined, name: string): string {
  return written === undefined || written === '' ? name : written
}

function renderSecrets(context: RenderContext, secrets: ClusterSecrets | undefined): KubernetesObject[] {
  const { cluster } = context
  const names = nameObjects(cluster.metadata.name)
  const certificates = cluster.spec.emqxTemplate?.listener?.certificate
  const rendered: KubernetesObject[] = []
  if (secrets !== undefined) {
    const admin = { username: secrets.adminUsername, password: secrets.adminPassword }
    const operator = {
      [fileNames.operatorPrivateKey]: secrets.operatorPrivateKey,
      [fileNames.operatorPublicKey]: secrets.operatorPublicKey,
    }
    rendered.push(
      renderSecret(context, names.admin, 'Opaque', encodeValues(admin)),
      renderSecret(context, names.operator, 'Opaque', encodeValues(operator)),
    )
  }
  for (const port of ['mqtts', 'wss'] as const) {
    const values = mergeCertificate(certificates?.[port] ?? {})
    const [certificate, key, authorities] = [values.get('tls.cert'), values.get('tls.key'), values.get('ca.cert')]
    if (certificate === undefined || key === undefined) continue
    const data = { [fileNames.certificate]: certificate, [fileNames.key]: key }
    const all = authorities === undefined ? data : { ...data, [fileNames.authorities]: authorities }
    rendered.push(renderSecret(context, names[port], 'kubernetes.io/tls', all))
  }
  return rendered
}

function renderSecret(
  context: RenderContext,
  name: string,
  type: string,
  data: Readonly<Record<string, string>>,
): KubernetesObject {
  return createObject(context, { apiVersion: 'v1', kind: 'Secret', name }, { type, data: sortKeys(data) })
}

function encodeValues(values: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value, 'utf8').toString('base64')]),
  )
}

function renderConfigMaps(context: RenderContext): KubernetesObject[] {
  const { spec, metadata, settings } = context.cluster
  const names = nameObjects(metadata.name)
  const render = (name: string, data: Readonly<Record<string, string>>): KubernetesObject =>
    createObject(context, { apiVersion: 'v1', kind: 'ConfigMap', name }, { data })
  const telegraf = spec.telegrafTemplate?.config
  return [
    render(names.config, { [fileNames.config]: settings.file }),
    ...(settings.aclFile === undefined ? [] : [render(names.acl, { [fileNames.acl]: settings.aclFile })]),
    ...(telegraf === undefined ? [] : [render(names.telegraf, { [fileNames.telegraf]: telegraf })]),
  ]
}
