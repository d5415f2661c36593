// The ports that a cluster opens: those that are written, without those that cannot be served.

import { defaultPorts, portNames, type PortName } from './broker-template-fields.ts'
import type { ClusterSpecDraft } from './cluster-fields.ts'

export type TemplateDraft = NonNullable<ClusterSpecDraft['emqxTemplate']>
export type ListenerDraft = NonNullable<TemplateDraft['listener']>
export type CertificateDraft = NonNullable<NonNullable<ListenerDraft['certificate']>['mqtts']>

export type TlsPort = 'mqtts' | 'wss'

/** Returns the port numbers that are written or default, also of TLS ports without a certificate. */
export function resolvePorts(listener: ListenerDraft | undefined): ReadonlyMap<PortName, number> {
  const written = listener?.ports
  const isAnyGiven = written !== undefined && portNames.some((name) => written[name] !== undefined)
  if (!isAnyGiven) return new Map(portNames.map((name) => [name, defaultPorts[name]]))
  return new Map(
    portNames.flatMap((name): [PortName, number][] => {
      const port = written[name] ?? 0
      if (port > 0) return [[name, port]]
      return name === 'api' ? [[name, defaultPorts.api]] : []
    }),
  )
}

/** Returns the listener whose certificate a TLS port uses: `wss` uses that of `mqtts` if it has none. Undefined: there is no certificate. */
export function findCertificateOwner(listener: ListenerDraft | undefined, port: TlsPort): TlsPort | undefined {
  const { mqtts, wss } = listener?.certificate ?? {}
  if (port === 'wss' && hasCertificate(wss)) return 'wss'
  return hasCertificate(mqtts) ? 'mqtts' : undefined
}

/** Returns whether a certificate is given, as data or by the name of a Secret. */
export function hasCertificate(certificate: CertificateDraft | undefined): boolean {
  if (certificate === undefined) return false
  const { data, stringData, secretName } = certificate
  return (secretName !== undefined && secretName !== '') || isAnySet(data) || isAnySet(stringData)
}

function isAnySet(values: object | undefined): boolean {
  return values !== undefined && Object.values(values).some((value) => value !== undefined && value !== '')
}

/** Returns whether the dashboard is switched off by a plugin or a module. */
function isDashboardOff({ plugins = [], modules = [] }: TemplateDraft): boolean {
  const isOff = (name: string): boolean => readFeature({ plugins, modules }, name) === false
  return isOff('dashboard')
}

/** Returns the ports that are opened, in the order of the Service. */
export function listOpenPorts(template: TemplateDraft | undefined): ReadonlyMap<PortName, number> {
  const listener = template?.listener
  const isOpen = (name: PortName): boolean => {
    if (name === 'mqtts' || name === 'wss') return findCertificateOwner(listener, name) !== undefined
    return name !== 'dashboard' || template === undefined || !isDashboardOff(template)
  }
  return new Map([...resolvePorts(listener)].filter(([name]) => isOpen(name)))
}

/** Returns a name of a plugin or module without the prefix of EMQX. */
export function normalizeFeatureName(name: string): string {
  return name.replace(/^emqx_(?:mod_)?/, '')
}

/** Returns whether a feature is enabled; undefined: neither modules nor plugins name it. Modules decide. */
export function readFeature(
  { plugins = [], modules = [] }: Pick<TemplateDraft, 'plugins' | 'modules'>,
  feature: string,
): boolean | undefined {
  for (const item of [...modules, ...plugins])
    if (item?.name !== undefined && normalizeFeatureName(item.name) === feature) return item.enable ?? false
  return undefined
}
