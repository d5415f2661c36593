// What a plugin may not use and Node's permission model does not refuse. It guards against faults and careless packages, not against attackers.

import { registerHooks } from 'node:module'

const networkModules = new Set(['dgram', 'dns', 'dns/promises', 'http', 'http2', 'https', 'net', 'quic', 'tls'])

/** Signals reach the broker, which runs as the same user. */
export function refuseSignals(): void {
  const refused = { kill: refuseSignal, _kill: refuseSignal, abort: refuseSignal, _debugProcess: refuseSignal }
  Object.assign(process, refused)
}

function refuseSignal(): never {
  throw new Error('a plugin cannot send signals')
}

/** Without the permission `net`. Where a network namespace refuses the network, this gives the reason. */
export function refuseNetwork(): void {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      checkModule(specifier)
      return nextResolve(specifier, context)
    },
  })
  const getBuiltinModule = process.getBuiltinModule.bind(process)
  const getAllowedModule = (name: string): object | undefined => {
    checkModule(name)
    return getBuiltinModule(name)
  }
  Object.assign(globalThis, { fetch: refuseFetch, WebSocket: refuseFetch, EventSource: refuseFetch })
  Object.assign(process, { getBuiltinModule: getAllowedModule, binding: refuseFetch, _linkedBinding: refuseFetch })
}

function refuseFetch(): never {
  throw createRefusal('fetch')
}

function checkModule(specifier: string): void {
  if (networkModules.has(specifier.replace(/^node:/, ''))) throw createRefusal(specifier)
}

function createRefusal(subject: string): Error {
  return new Error(`${subject} needs the permission "net": name it in "permissions" of package.json`)
}
