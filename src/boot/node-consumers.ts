// Consumers of settings that the main thread applies itself: files, the audit log, and the schedule of backups.

import type { GodwitConfig } from '../config/index.ts'
import { type AuditLog, type Backups, type ConfigConsumer, ScheduledBackups } from '../node/index.ts'
import type { RunningManagement } from './management.ts'

export function auditConsumer(audit: AuditLog): ConfigConsumer {
  return {
    owns: (key) => key.startsWith('audit.'),
    apply: async ({ maxAuditBytes }) => {
      await audit.changeSize(maxAuditBytes)
      return undefined
    },
  }
}

/** Starts automatic backups. */
export function scheduledBackups(config: GodwitConfig, made: Backups) {
  const backups = new ScheduledBackups(config.backup, {
    nowMs: () => Date.now(),
    make: (keep) => made.makeScheduled(keep),
  })
  backups.start()
  const consumer: ConfigConsumer = {
    owns: (key) => key.startsWith('backup.'),
    apply: async (changed) => {
      backups.change(changed.backup)
      return undefined
    },
  }
  const endWith = (management: Pick<RunningManagement, 'close'>): Promise<void> => {
    backups.stop()
    return management.close()
  }
  return { consumer, endWith }
}

/** Returns a consumer that reads the files named in the configuration again at each change. */
export function filesConsumer(reloadFiles: () => void): ConfigConsumer {
  return {
    owns: () => false,
    isAlwaysApplied: true,
    apply: async () => {
      reloadFiles()
      return undefined
    },
  }
}
