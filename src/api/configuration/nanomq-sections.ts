// Sections of the configuration with their names in NanoMQ's API. They are returned in its form; `basic` can change the
// settings that it shares with `/reload`.

import { mask } from '../../config/index.ts'
import type { HotSettings } from './endpoints.ts'
import { isSentObject, type Sent } from '../bridges/read-bridge-node.ts'

/** By name, with the endpoint that changes the same settings. */
const replacements = {
  basic: 'mqtt, auth, system and listeners.tcp',
  tls: 'listeners.ssl',
  websocket: 'listeners.ws and listeners.wss',
  auth_http: 'auth.http_auth',
  bridge: 'bridges.mqtt',
  aws_bridge: 'bridges.aws',
} as const

export type NanomqSection = keyof typeof replacements

export function isNanomqSection(name: string): name is NanomqSection {
  return Object.hasOwn(replacements, name)
}

/** Returns where settings of such a section are changed. */
export function findReplacementSection(name: NanomqSection): string {
  return replacements[name]
}

export interface NanomqDependencies {
  /** Sections of Godwit, secrets masked. */
  readonly sections: Sent
  readonly hot: Required<HotSettings>
  /** As in `GET /bridges`: bridges to AWS IoT, or all others. */
  readonly readBridges: (areOfAws: boolean) => Promise<object>
}

export async function createNanomqSection(
  name: NanomqSection,
  { sections, hot, readBridges }: NanomqDependencies,
): Promise<object> {
  switch (name) {
    case 'basic':
      return toBasic(sections, hot)
    case 'tls':
      return toTls(sections)
    case 'websocket':
      return {
        enable: findListener(sections, 'ws') !== undefined,
        url: formatUrl(sections, 'ws', 'mqtt-ws'),
        tls_url: formatUrl(sections, 'wss', 'mqtt-wss'),
      }
    case 'auth_http': {
      const settings = readPart(readPart(sections, 'auth'), 'http_auth')
      const isOn = ['auth_req', 'super_req', 'acl_req'].some((request) => isText(readPart(settings, request)['url']))
      return { ...settings, enable: isOn }
    }
    case 'bridge':
      return readBridges(false)
    case 'aws_bridge':
      return readBridges(true)
    default:
      return name satisfies never
  }
}

function toBasic(sections: Sent, hot: Required<HotSettings>): object {
  const { num_taskq_thread, max_taskq_thread, parallel, daemon, enable_ipc_internal } = readPart(sections, 'system')
  return {
    url: formatUrl(sections, 'tcp', 'mqtt-tcp'),
    num_taskq_thread,
    max_taskq_thread,
    parallel,
    daemon,
    ipc_internal: enable_ipc_internal,
    ...hot,
  }
}

function toTls(sections: Sent): object {
  const listener = findListener(sections, 'ssl')
  const { key_password = null, keyfile, certfile, cacertfile, verify_peer, fail_if_no_peer_cert } = listener ?? {}
  const toFileName = (name: unknown): unknown => (isText(name) ? name : null)
  return {
    enable: listener !== undefined,
    url: formatUrl(sections, 'ssl', 'tls+mqtt-tcp'),
    key_password,
    key: isText(keyfile) ? mask : null,
    cert: toFileName(certfile),
    cacert: toFileName(cacertfile),
    verify_peer: verify_peer === true,
    fail_if_no_peer_cert: fail_if_no_peer_cert === true,
  }
}

/** The listener without a name, or the first of those with one. */
function findListener(sections: Sent, kind: string): Sent | undefined {
  const ofKind = readPart(readPart(sections, 'listeners'), kind)
  if ('bind' in ofKind) return ofKind
  return Object.values(ofKind).find((one): one is Sent => isSentObject(one) && 'bind' in one)
}

/** A listener with only a port has no host in its URL. */
function formatUrl(sections: Sent, kind: string, scheme: string): string | null {
  const bind = findListener(sections, kind)?.['bind']
  if (typeof bind !== 'string' && typeof bind !== 'number') return null
  return /^\d+(\/|$)/.test(`${bind}`) ? `${scheme}://:${bind}` : `${scheme}://${bind}`
}

function readPart(whole: Sent, name: string): Sent {
  const part = whole[name]
  return isSentObject(part) ? part : {}
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value !== 'none'
}
