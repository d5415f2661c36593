// A node in the process of a test, whose shards fail when the test requests it.

import assert from 'node:assert/strict'
import { loadConfig } from '../../src/config/index.ts'
import type { NodeOptions, RunningNode } from '../../src/boot/running-node.ts'
import { importNode } from '../node/built-node.ts'
import { atEnd, type Scope, temporaryFolder } from './godwit-process.ts'

const { startNode } = await importNode()

const common = [
  'listeners.tcp.bind="127.0.0.1:0"',
  'http_server={enable=false,password="a-password-for-tests"}',
  'log.to=[file]',
]

interface FaultOptions extends Partial<NodeOptions> {
  readonly dataDirectory?: string
  /** A configuration in HOCON. */
  readonly text?: string
  readonly set?: readonly string[]
}

/** Starts a node whose shards run `entry`, a file of this folder. It stops at the end of the test. */
export async function startNodeWithFaults(
  t: Scope,
  entry: string | undefined = './crashing-shard.ts',
  { dataDirectory, text, set = [], ...options }: FaultOptions = {},
): Promise<RunningNode> {
  const dataDir = dataDirectory ?? (await temporaryFolder(t))
  const written = text === undefined ? {} : { text, file: 'test.conf' }
  const loaded = loadConfig({ ...written, overrides: [...common, ...set] })
  assert.ok('config' in loaded, JSON.stringify(loaded))
  const { config, warnings } = loaded
  const started = await startNode({
    config: { ...config, node: { ...config.node, dataDir } },
    warnings,
    installation: { root: dataDir, isCheckout: true },
    shardEntry: new URL(entry, import.meta.url),
    ...options,
  })
  assert.ok('node' in started, JSON.stringify(started))
  atEnd(t, () => started.node.stop())
  return started.node
}
