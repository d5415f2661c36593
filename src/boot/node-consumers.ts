// Consumers of settings that the main thread applies itself: files, the audit log, and the schedule of backups.

import type { GodwitConfig } from '../config/index.ts'
import {
  type Alarms,
  type AuditLog,
  type Backups,
  type ConfigConsumer,
  ModuleAlarms,
  ScheduledBackups,
} from '../node/index.ts'
import type { RunningManagement } from './management.ts'

export function createAuditConsumer(audit: AuditLog): ConfigConsumer {
  return {
    canApply: (key) => key.startsWith('audit.'),
    apply: async ({ maxAuditBytes }) => {
      await audit.changeSize(maxAuditBytes)
      return undefined
    },
  }
}

/** Raises the alarms about modules, now and after changes. */
export function createModuleAlarms(config: GodwitConfig, alarms: Alarms): ConfigConsumer {
  const consumer = new ModuleAlarms(alarms)
  consumer.check(config)
  return consumer
}

/** Starts automatic backups. */
export function startScheduledBackups(config: GodwitConfig, made: Backups) {
  const backups = new ScheduledBackups(config.backup, {
    nowMs: () => Date.now(),
    make: (keep) => made.makeScheduled(keep),
  })
  backups.start()
  const consumer: ConfigConsumer = {
    canApply: (key) => key.startsWith('backup.'),
    apply: async (changed) => {
      backups.change(changed.backup)
      return undefined
    },
  }
  const stopAndClose = (management: Pick<RunningManagement, 'close'>): Promise<void> => {
    backups.stop()
    return management.close()
  }
  return { consumer, endWith: stopAndClose }
}

/** Returns a consumer that reads the files named in the configuration again at each change. */
export function createFilesConsumer(reloadFiles: () => void): ConfigConsumer {
  return {
    canApply: () => false,
    isAlwaysApplied: true,
    apply: async () => {
      reloadFiles()
      return undefined
    },
  }
}
