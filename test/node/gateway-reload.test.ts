// A reload reads the object definitions of the LwM2M gateway again.

import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/index.ts'
import { applyEverywhere } from '../../src/node/configuration/config-consumers.ts'
import { GatewayConfig, GatewayPlanner } from '../../src/node/gateways/gateway-config.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'

const definition = (name: string): string =>
  `<LWM2M><Object ObjectType="MODefinition"><Name>${name}</Name><ObjectID>3300</ObjectID><MultipleInstances>Multiple</MultipleInstances>
  <Resources><Item ID="5700"><Name>Value</Name><Operations>R</Operations><MultipleInstances>Single</MultipleInstances>
  <Type>Float</Type></Item></Resources></Object></LWM2M>`

test('a reload without changed settings uses changed object definitions of gateway.lwm2m.xml_dir', async (t) => {
  const folder = join(await temporaryFolder(t), 'objects')
  await mkdir(folder)
  const text = `gateway.lwm2m { xml_dir = "${folder}", listeners.udp.default.bind = "127.0.0.1:0" }`
  const loaded = loadConfig({ text, overrides: [] })
  assert.ok('config' in loaded)
  const { config } = loaded
  const planner = new GatewayPlanner(1)
  const first = await planner.plan(config, [])
  assert.ok('plan' in first)
  const sent: unknown[] = []
  const gateways = new GatewayConfig({
    config,
    plan: first.plan,
    planner,
    sendToShards: async (plan) => void sent.push(plan.map(({ objects }) => objects?.map(({ name }) => name))),
  })
  const reload = () => applyEverywhere([gateways], [], { before: config, after: config })
  assert.equal(await reload(), undefined)
  assert.deepEqual(sent, [], 'nothing has changed')
  for (const name of ['Sensor', 'Other sensor']) {
    await writeFile(join(folder, '3300.xml'), definition(name))
    assert.equal(await reload(), undefined)
  }
  assert.deepEqual(sent, [[['Sensor']], [['Other sensor']]])
  await writeFile(join(folder, '3300.xml'), '<LWM2M>')
  assert.match((await reload())?.problem ?? '', /^gateway\.lwm2m\.xml_dir: .*3300\.xml is not a definition/)
})
