// Modules: a change is a change of the configuration.

import type { Caller, ReplyOf } from '../../contract/index.ts'
import { type ApiError, type Handlers, refuse } from '../../management/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import { SettingWriter } from '../context/setting-writer.ts'
import type { moduleEndpoints } from './endpoints.ts'
import { createModuleSettings, findModule, isModuleActive, modules } from './module-table.ts'

type Known = typeof moduleEndpoints
type Row = ReplyOf<Known['list_node_modules']>['data'][number]
type Context = Pick<ApiContext, 'nodeName' | 'configuration'>
type Action = 'load' | 'unload' | 'reload'

export function createModuleHandlers(context: Context): Handlers<Known> {
  const { nodeName, configuration } = context
  const list = (): Row[] =>
    modules.map((module) => {
      const { name, description } = module
      return { name, description, active: isModuleActive(module, configuration.config) }
    })
  const refuseNode = (node: string): ApiError | undefined =>
    node === nodeName ? undefined : refuse('unknownError', `there is no node ${JSON.stringify(node)}`, 404)
  return {
    list_modules: () => ({ code: 0, data: [{ node: nodeName, modules: list() }] }),
    list_node_modules: ({ params }) => refuseNode(params.node) ?? { code: 0, data: list() },
    control_module: ({ params, caller }) => controlModule(context, params, caller),
    control_node_module: ({ params, caller }) => refuseNode(params.node) ?? controlModule(context, params, caller),
  }
}

async function controlModule(
  { configuration }: Context,
  { name, action }: { readonly name: string; readonly action: Action },
  caller: Caller,
): Promise<{ code: 0 } | ApiError> {
  const module = findModule(name)
  if (module === undefined) return refuse('unknownError', `there is no module ${JSON.stringify(name)}`, 404)
  const isActive = isModuleActive(module, configuration.config)
  if (action === 'load' && isActive) return refuse('pluginEnabled', `the module ${module.name} is loaded`)
  if (action !== 'load' && !isActive) return refuse('pluginClosed', `the module ${module.name} is not loaded`)
  // Each change reads the files of the configuration again, also one that leaves all settings as they are.
  const settings = createModuleSettings(module, action !== 'unload')
  const problem = await new SettingWriter(configuration).change(settings, caller)
  if (problem === undefined) return { code: 0 }
  return refuse(problem.isAbout === 'disk' ? 'configNotWritten' : 'invalidParameter', problem.problem)
}
