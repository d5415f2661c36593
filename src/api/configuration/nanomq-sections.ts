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
export function replacementSection(name: NanomqSection): string {
  return replacements[name]
}

export interface NanomqDependencies {
  /** Sections of Godwit, secrets masked. */
  readonly sections: Sent
  readonly hot: Required<HotSettings>
  /** As in `GET /bridges`: bridges to AWS IoT, or all others. */
  readonly bridges: (areOfAws: boolean) => Promise<object>
}

export async function nanomqSection(
  name: NanomqSection,
  { sections, hot, bridges }: NanomqDependencies,
): Promise<object> {
  switch (name) {
    case 'basic':
      return basicOf(sections, hot)
    case 'tls':
      return tlsOf(sections)
    case 'websocket':
      return {
        enable: listenerOf(sections, 'ws') !== undefined,
        url: urlOf(sections, 'ws', 'mqtt-ws'),
        tls_url: urlOf(sections, 'wss', 'mqtt-wss'),
      }
    case 'auth_http': {
      const settings = partOf(partOf(sections, 'auth'), 'http_auth')
      const isOn = ['auth_req', 'super_req', 'acl_req'].some((request) => isText(partOf(settings, request)['url']))
      return { ...settings, enable: isOn }
    }
    case 'bridge':
      return bridges(false)
    case 'aws_bridge':
      return bridges(true)
    default:
      return name satisfies never
  }
}

function basicOf(sections: Sent, hot: Required<HotSettings>): object {
  const { num_taskq_thread, max_taskq_thread, parallel, daemon, enable_ipc_internal } = partOf(sections, 'system')
  return {
    url: urlOf(sections, 'tcp', 'mqtt-tcp'),
    num_taskq_thread,
    max_taskq_thread,
    parallel,
    daemon,
    ipc_internal: enable_ipc_internal,
    ...hot,
  }
}

function tlsOf(sections: Sent): object {
  const listener = listenerOf(sections, 'ssl')
  const { key_password = null, keyfile, certfile, cacertfile, verify_peer, fail_if_no_peer_cert } = listener ?? {}
  const file = (name: unknown): unknown => (isText(name) ? name : null)
  return {
    enable: listener !== undefined,
    url: urlOf(sections, 'ssl', 'tls+mqtt-tcp'),
    key_password,
    key: isText(keyfile) ? mask : null,
    cert: file(certfile),
    cacert: file(cacertfile),
    verify_peer: verify_peer === true,
    fail_if_no_peer_cert: fail_if_no_peer_cert === true,
  }
}

/** The listener without a name, or the first of those with one. */
function listenerOf(sections: Sent, kind: string): Sent | undefined {
  const ofKind = partOf(partOf(sections, 'listeners'), kind)
  if ('bind' in ofKind) return ofKind
  return Object.values(ofKind).find((one): one is Sent => isSentObject(one) && 'bind' in one)
}

/** A listener with only a port has no host in its URL. */
function urlOf(sections: Sent, kind: string, scheme: string): string | null {
  const bind = listenerOf(sections, kind)?.['bind']
  if (typeof bind !== 'string' && typeof bind !== 'number') return null
  return /^\d+(\/|$)/.test(`${bind}`) ? `${scheme}://:${bind}` : `${scheme}://${bind}`
}

function partOf(whole: Sent, name: string): Sent {
  const part = whole[name]
  return isSentObject(part) ? part : {}
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value !== 'none'
}
