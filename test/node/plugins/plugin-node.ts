// A node in the process of the test, with plugins whose sources the test writes.

import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  defaultPluginSettings,
  type HookName,
  type InstalledPlugin,
  type PluginManifest,
  type PluginSettings,
} from '../../../src/plugins/index.ts'
import { type NodeInTest, startInTest } from '../backup/nodes.ts'

export interface PluginSource extends Partial<
  Pick<PluginManifest, 'topics' | 'clients' | 'listeners' | 'permissions'>
> {
  readonly name: string
  readonly hooks: readonly HookName[]
  /** Body of the module, in TypeScript. */
  readonly source: string
  readonly settings?: Partial<PluginSettings>
  readonly config?: unknown
}

/** Writes the plugin into a folder of the node. */
export async function writePlugin({ folder }: NodeInTest, plugin: PluginSource): Promise<InstalledPlugin> {
  const { name, hooks, source, settings, config = {}, ...filters } = plugin
  const directory = join(folder, `plugin-${name}`)
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, 'package.json'), JSON.stringify({ name, version: '1.0.0', type: 'module' }))
  await writeFile(join(directory, 'main.ts'), source)
  const manifest: PluginManifest = {
    name,
    version: '1.0.0',
    api: 1,
    hooks,
    topics: [],
    clients: [],
    listeners: [],
    configSchema: undefined,
    permissions: [],
    main: 'main.ts',
    description: undefined,
    author: undefined,
    ...filters,
  }
  return { manifest, directory, config, settings: { ...defaultPluginSettings, ...settings } }
}

/** Starts it; the test fails if it does not start. */
export async function startPlugin(on: NodeInTest, plugin: PluginSource): Promise<InstalledPlugin> {
  const installed = await writePlugin(on, plugin)
  assert.deepEqual(await on.node.plugins.start(installed), { started: true })
  return installed
}

export function startNodeWithPlugins(t: TestContext, set: readonly string[] = []): Promise<NodeInTest> {
  return startInTest(t, { set })
}
