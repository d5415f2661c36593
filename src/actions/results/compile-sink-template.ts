// Templates of actions over the results of rules, which are maps of the rule language.

import { compileTemplate, toPlainValue } from '../../rules/index.ts'
import type { RuleMap } from '../../values/index.ts'
import type { CompileTemplate } from '../../sinks/index.ts'

export const compileSinkTemplate: CompileTemplate = (text, encoding) => {
  const template = compileTemplate(text, encoding)
  return {
    parts: template.parts,
    render: (data) => template.render(data as RuleMap),
    resolveValues: (data) => template.resolveValues(data as RuleMap).map(toPlainValue),
  }
}
