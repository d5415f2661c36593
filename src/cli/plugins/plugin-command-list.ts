// The commands of `godwit plugins`.

import type { CtlOption, Outcome } from '../ctl/ctl-command.ts'
import type { PluginTarget } from './plugin-target.ts'

export interface PluginCall {
  /** Values of the arguments, in their order. */
  readonly operands: readonly string[]
  /** Options by their long flag in camel case. */
  readonly options: Readonly<Record<string, string | true | undefined>>
}

export interface PluginCommand {
  readonly name: string
  readonly description: string
  readonly arguments?: readonly string[]
  readonly options?: readonly CtlOption[]
  run(target: PluginTarget, call: PluginCall): Promise<Outcome>
}

export const pluginCommands: readonly PluginCommand[] = [
  {
    name: 'install',
    description: 'install a plugin from its archive, as "npm pack" makes it',
    arguments: ['<file>'],
    options: [{ flags: '--upgrade', description: 'replace another version; configuration, order and state stay' }],
    run: (target, { operands: [file = ''], options }) =>
      target.install(file, { isUpgrade: options['upgrade'] === true }),
  },
  {
    name: 'uninstall',
    description: 'stop a plugin and delete it, with its configuration and its data',
    arguments: ['<name>'],
    run: (target, { operands: [name = ''] }) => target.uninstall(name),
  },
  {
    name: 'enable',
    description: 'start a plugin, now and with the broker',
    arguments: ['<name>'],
    run: (target, { operands: [name = ''] }) => target.enable(name),
  },
  {
    name: 'disable',
    description: 'stop a plugin; it does not start with the broker any more',
    arguments: ['<name>'],
    run: (target, { operands: [name = ''] }) => target.disable(name),
  },
  {
    name: 'reload',
    description: 'replace the process of a plugin by a new one; no call fails',
    arguments: ['<name>'],
    run: (target, { operands: [name = ''] }) => target.reload(name),
  },
  {
    name: 'list',
    description: 'list the plugins with their states, in the order of their hooks',
    run: (target) => target.list(),
  },
  {
    name: 'allow',
    description: 'allow the permissions for which a new version of a plugin was refused',
    arguments: ['<name>'],
    run: (target, { operands: [name = ''] }) => target.allow(name),
  },
  {
    name: 'move',
    description: 'change the order of the hooks: to the front, to the rear, before:NAME or after:NAME',
    arguments: ['<name>', '<position>'],
    run: (target, { operands: [name = '', position = ''] }) => target.move(name, position),
  },
]
