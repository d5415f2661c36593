// Where the API is served over HTTP, through changes: with servers that listen on nothing but this test.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authenticator, ManagementServer, ManagementSettings } from '../../src/management/index.ts'
import { type HttpPlace, HttpEndpoint } from '../../src/node/api/http-endpoint.ts'

/** A machine with one network: a listener on all addresses of a port excludes other listeners of that port, and the other way round. */
class Machine {
  readonly listening: Set<string> = new Set()
  readonly settings: Map<string, ManagementSettings> = new Map()
  readonly events: string[] = []
  /** Hosts that the machine has not. */
  readonly missing: Set<string> = new Set()

  readonly createServer = (settings: ManagementSettings): ManagementServer => {
    let place = ''
    return {
      listen: async (at) => {
        assert.ok('host' in at)
        const wanted = `${at.host}:${at.port === 0 ? 9_999 : at.port}`
        const [, port = ''] = wanted.split(':')
        const rivals = [...this.listening].filter((other) => other.endsWith(`:${port}`))
        const isTaken = rivals.some((other) => other === wanted || `${other} ${wanted}`.includes('0.0.0.0'))
        if (isTaken || this.missing.has(at.host)) return { problem: `http_server: cannot listen on ${wanted}` }
        place = wanted
        this.listening.add(place)
        this.settings.set(place, settings)
        this.events.push(`open ${place}`)
        return { port: Number(port) }
      },
      change: (changed) => {
        this.settings.set(place, changed)
        this.events.push(`change ${place}`)
      },
      close: async () => {
        if (this.listening.delete(place)) this.events.push(`close ${place}`)
      },
    }
  }
}

const nobody = {} as Authenticator
const some: ManagementSettings = { authenticator: nobody, maxBodyBytes: 1, maxUploadBytes: 1, maxRequests: 1 }
const others: ManagementSettings = { ...some, maxRequests: 2 }

const at = (host: string, port: number): HttpPlace => ({ key: 'http_server.port', hosts: [host], port, isNamed: true })

interface Stage {
  readonly machine: Machine
  readonly served: HttpEndpoint
  readonly errors: string[]
}

function stage(): Stage {
  const machine = new Machine()
  const errors: string[] = []
  const note = (event: string): void => void errors.push(event)
  const log = { debug: note, info: note, warn: note, error: note }
  return { machine, served: new HttpEndpoint(machine.createServer, log), errors }
}

test('where the place is the same one the server stays, and any port is the one that it has', async () => {
  const { machine, served } = stage()
  assert.equal(await served.change(at('127.0.0.1', 0), some), undefined)
  assert.equal(await served.change(at('127.0.0.1', 0), others), undefined)
  assert.equal(await served.change(at('127.0.0.1', 9_999), some), undefined)
  assert.deepEqual(machine.events, ['open 127.0.0.1:9999', 'change 127.0.0.1:9999', 'change 127.0.0.1:9999'])
  assert.equal(await served.change(undefined, some), undefined)
  assert.equal(served.address, undefined)
  assert.deepEqual([...machine.listening], [])
})

test('a new place is opened before the old one is let go of', async () => {
  const { machine, served } = stage()
  await served.change(at('127.0.0.1', 1), some)
  assert.equal(await served.change(at('127.0.0.1', 2), others), undefined)
  assert.equal(await served.change(at('192.0.2.1', 2), others), undefined)
  assert.deepEqual(machine.events, [
    'open 127.0.0.1:1',
    'open 127.0.0.1:2',
    'close 127.0.0.1:1',
    'open 192.0.2.1:2',
    'close 127.0.0.1:2',
  ])
  assert.deepEqual(served.address, { host: '192.0.2.1', port: 2 })
})

test('where the two keep each other out the old one goes first', async () => {
  const { machine, served } = stage()
  await served.change(at('127.0.0.1', 1), some)
  assert.equal(await served.change(at('0.0.0.0', 1), others), undefined)
  assert.deepEqual(machine.events, ['open 127.0.0.1:1', 'close 127.0.0.1:1', 'open 0.0.0.0:1'])
})

test('a place that cannot be had leaves the old one with what was in force there', async () => {
  const { machine, served, errors } = stage()
  machine.missing.add('192.0.2.7').add('0.0.0.0')
  await served.change(at('127.0.0.1', 1), some)
  assert.match((await served.change(at('192.0.2.7', 2), others))?.problem ?? '', /192\.0\.2\.7:2/)
  assert.match((await served.change(at('0.0.0.0', 1), others))?.problem ?? '', /0\.0\.0\.0:1/)
  assert.deepEqual([...machine.listening], ['127.0.0.1:1'])
  assert.equal(machine.settings.get('127.0.0.1:1'), some)
  assert.deepEqual(served.address, { host: '127.0.0.1', port: 1 })
  assert.equal(await served.change(at('127.0.0.1', 1), others), undefined, 'and it can be changed as before')
  assert.equal(machine.settings.get('127.0.0.1:1'), others)
  assert.deepEqual(errors, [])
})

test('a path that is not configured is skipped', async () => {
  const { machine, served, errors } = stage()
  machine.missing.add('127.0.0.1')
  assert.equal(await served.change({ ...at('127.0.0.1', 1), isNamed: false }, some), undefined)
  assert.equal(served.address, undefined)
  assert.deepEqual(errors, ['HTTP API not available'])
})
