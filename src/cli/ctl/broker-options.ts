// Options that say which broker a command of `ctl` is for. They may also stand before the command: `ctl --data DIR clients list`.

import { ctlCommands } from './commands/all.ts'

interface BrokerOption {
  readonly flags: string
  readonly description: string
}

/** Of each command that asks a broker. */
export const brokerOptions: readonly BrokerOption[] = [
  {
    flags: '--data <directory>',
    description: 'data directory of the broker, which has its control socket (default: $GODWIT_DATA)',
  },
  {
    flags: '--config <file>',
    description: 'configuration of the broker, which names its data directory (default: $GODWIT_CONFIG)',
  },
  { flags: '--url <url>', description: 'use the HTTP API of a broker: http://host:port' },
  { flags: '--username <name>', description: 'user name of an account, or ID of an API key' },
  { flags: '--password-stdin', description: 'read the password from stdin (default: ask on the terminal)' },
  { flags: '--token-stdin', description: 'sign in with a JSON Web Token, read from stdin' },
  { flags: '--namespace <name>', description: 'only this namespace, where a command has to do with one' },
]

/** Of each command. */
export const jsonOption: BrokerOption = { flags: '--json', description: 'print one JSON document' }

/** The words of `godwit ctl ...` with such options, where they stand before the name of the command, behind it. Other words as they are. */
export function optionsBehindCommand(words: readonly string[]): readonly string[] {
  if (words[0] !== 'ctl') return words
  const path: string[] = []
  const options: string[] = []
  let at = 1
  while (at < words.length && !ctlCommands.some(({ name }) => name === path.join(' '))) {
    const count = wordsOfOption(words[at] ?? '')
    if (count === 0) path.push(words[at] ?? '')
    options.push(...words.slice(at, at + count))
    at += Math.max(1, count)
  }
  return ['ctl', ...path, ...options, ...words.slice(at)]
}

/** 0: it is none of these options. `--data=DIR` is one word. */
function wordsOfOption(word: string): number {
  const [name] = word.split('=', 1)
  const option = [...brokerOptions, jsonOption].find(({ flags }) => flags.split(' ')[0] === name)
  if (option === undefined) return 0
  return option.flags.includes('<') && !word.includes('=') ? 2 : 1
}
