// Writes changed settings that were restored from the history to their file again, and raises the alarm about them.

import { writeSettings, stageFile, type Alarms, type ConfigurationSources } from '../node/index.ts'

interface Restored {
  readonly restoredSettings?: string | undefined
  readonly sources?: ConfigurationSources | undefined
}

/** A failure is not fatal: the settings apply, and the next start restores them again. */
export async function restoreSettings(
  { restoredSettings, sources }: Restored,
  alarms: Pick<Alarms, 'raise'>,
): Promise<void> {
  if (restoredSettings === undefined || sources === undefined) return
  alarms.raise('settings-restored', restoredSettings)
  try {
    const { dependencies, layers } = sources
    const staged = await stageFile(dependencies.changesFile, writeSettings(layers.changes), { keepsOld: false })
    await staged.commit()
  } catch (error) {
    alarms.raise('settings-restored', `${restoredSettings} The file cannot be written: ${(error as Error).message}.`)
  }
}
