// Plugins in archives: each record has the archive of the plugin, its configuration and its state; the order of the records is that of the
// hooks.

import { isDeepStrictEqual } from 'node:util'
import type { PluginBackupRecord } from '../../backup/index.ts'
import type { LibraryPlugin, PluginConfig, PluginRefusal } from '../../plugins/index.ts'
import type { PluginManager } from '../plugins/plugin-manager.ts'
import type { BackedUpPlugins } from './snapshot.ts'

type Effect = 'inserts' | 'updates' | 'unchanged'

export function createBackedUpPlugins(manager: PluginManager): BackedUpPlugins {
  return {
    get allowsInstall() {
      return manager.allowsInstall
    },
    exportRecords: () => exportRecords(manager),
    previewRecord: (record) => compareRecord(manager, record),
    importRecord: (record) => importRecord(manager, record),
    restoreOrder: (names) => manager.restoreOrder(names),
  }
}

async function* exportRecords(manager: PluginManager): AsyncGenerator<PluginBackupRecord> {
  for (const plugin of manager.list()) {
    const { name, version, sha256, isEnabled, config } = plugin.record
    const archive = await manager.readArchive(plugin)
    const pieces: Buffer[] = []
    for await (const piece of archive.read()) pieces.push(piece)
    yield {
      kind: 'plugin',
      name,
      version,
      sha256,
      isEnabled,
      config: JSON.stringify(config),
      archive: Buffer.concat(pieces),
    }
  }
}

function compareRecord(manager: PluginManager, record: PluginBackupRecord): Effect {
  const installed = manager.find(record.name)?.record
  if (installed === undefined) return 'inserts'
  const isSame =
    installed.sha256 === record.sha256 &&
    installed.isEnabled === record.isEnabled &&
    isDeepStrictEqual(installed.config, parseConfig(record))
  return isSame ? 'unchanged' : 'updates'
}

async function importRecord(
  manager: PluginManager,
  record: PluginBackupRecord,
): Promise<Effect | { readonly problem: string }> {
  const effect = compareRecord(manager, record)
  if (effect === 'unchanged') return effect
  const { name } = record
  const before = manager.find(name)?.record
  const steps: (() => Promise<LibraryPlugin | PluginRefusal>)[] = []
  if (before?.sha256 !== record.sha256) {
    steps.push(() => manager.install(toPieces(record.archive), { isUpgrade: before !== undefined }))
  }
  steps.push(async () => {
    const installed = manager.find(name)
    // The archive in the record may be that of another plugin.
    if (installed === undefined) return { reason: 'NOT_FOUND', problem: `the archive is not that of ${name}` }
    const config = parseConfig(record)
    return isDeepStrictEqual(installed.record.config, config) ? installed : manager.configure(name, config)
  })
  steps.push(() => (record.isEnabled ? manager.start(name) : manager.stop(name)))
  for (const step of steps) {
    const outcome = await step()
    if ('reason' in outcome) return { problem: outcome.problem }
  }
  return effect
}

async function* toPieces(archive: Uint8Array): AsyncGenerator<Buffer> {
  yield Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength)
}

/** The check of the archive has parsed it before. */
function parseConfig({ config }: PluginBackupRecord): PluginConfig {
  return JSON.parse(config) as PluginConfig
}
