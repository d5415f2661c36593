import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { grantLease, LeaseCell } from '../../src/cluster/index.ts'
import type { LinkPort } from '../../src/links/index.ts'
import { GatedPort, OutputGate } from '../../src/shard/runtime/output-gate.ts'

const leaseMs = 5_000

class GateModel {
  readonly cell = new LeaseCell()
  readonly sent: number[] = []
  isPortClosed = false
  readonly gate: OutputGate
  readonly port: GatedPort
  readonly #timers: TestContext['mock']['timers']
  #nowMs = 1_000_000

  constructor(t: TestContext) {
    this.#timers = t.mock.timers
    this.#timers.enable({ apis: ['setInterval'] })
    this.gate = new OutputGate({ lease: this.cell.buffer, readClocks: () => this.clocks })
    const port: LinkPort = {
      onBuffer: () => {},
      onClose: () => {},
      send: (buffer) => void this.sent.push(buffer.byteLength),
      close: () => (this.isPortClosed = true),
    }
    this.port = new GatedPort(port, this.gate)
  }

  get clocks() {
    return { monotonicMs: this.#nowMs, wallMs: this.#nowMs }
  }

  grant(): void {
    this.cell.write(grantLease(this.clocks, leaseMs))
  }

  pass(ms: number): void {
    this.#nowMs += ms
    this.#timers.tick(ms)
  }

  send(bytes: number): void {
    this.port.send(new ArrayBuffer(bytes))
  }
}

void test('the gate is open during a lease only', (t) => {
  const model = new GateModel(t)
  assert.equal(model.gate.isOpen, false)
  model.grant()
  assert.equal(model.gate.isOpen, true)
  model.pass(leaseMs)
  assert.equal(model.gate.isOpen, false)
})

void test('link buffers wait for the next lease and keep their order', (t) => {
  const model = new GateModel(t)
  model.grant()
  model.send(1)
  model.pass(leaseMs)
  model.send(2)
  model.send(3)
  model.pass(1_000)
  assert.deepEqual(model.sent, [1])
  model.grant()
  // Before the gate has noticed it: nothing overtakes.
  model.send(4)
  model.pass(100)
  assert.deepEqual(model.sent, [1, 2, 3, 4])
})

void test('a link that closes drops what waits', (t) => {
  const model = new GateModel(t)
  model.send(1)
  model.port.close()
  model.grant()
  model.pass(100)
  assert.deepEqual([model.sent, model.isPortClosed], [[], true])
})

void test('a function that waits several times is called once, and again only if it waits again', (t) => {
  const model = new GateModel(t)
  let calls = 0
  const resume = (): void => void calls++
  model.gate.wait(resume)
  model.gate.wait(resume)
  model.grant()
  model.pass(100)
  model.pass(100)
  assert.equal(calls, 1)
  model.pass(leaseMs)
  model.gate.wait(resume)
  model.grant()
  model.pass(100)
  assert.equal(calls, 2)
})
