// Definitions of objects that `xml_dir` adds. By section F2 of the gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ObjectDefinitions, parseObjectDefinition } from '../../src/gateways/index.ts'

function xml(resources: string, id = '3347'): string {
  return `<?xml version="1.0"?><LWM2M><!-- <Object> --><Object ObjectType="MODefinition"><Name>Meter</Name>
     <ObjectID>${id}</ObjectID><Resources>${resources}</Resources></Object></LWM2M>`
}

describe('[F2] xml_dir: a definition of an object', () => {
  test('sets the types of the resources of its object', () => {
    const parsed = parseObjectDefinition(
      xml(`<Item ID="5501"><Name>Counter</Name><Operations>R</Operations><Type>Integer</Type></Item>
           <Item ID="5505"><Name>Reset</Name><Operations>E</Operations><Type></Type></Item>
           <Item ID="5850"><Name>State</Name><Operations>R</Operations><Type>Boolean</Type></Item>`),
    )
    assert.ok(typeof parsed !== 'string')
    assert.deepEqual([parsed.id, parsed.name], [3_347, 'Meter'])
    const objects = new ObjectDefinitions([parsed])
    const types = [5_501, 5_505, 5_850].map((resource) => objects.findType([3_347, 0, resource]))
    assert.deepEqual(types, ['Integer', undefined, 'Boolean'])
    assert.equal(objects.findType([3, 0, 9]), 'Integer', 'the built-in ones stay')
    assert.equal(new ObjectDefinitions().findType([3_347, 0, 5_501]), undefined)
  })

  test('replaces a built-in one', () => {
    const parsed = parseObjectDefinition(xml('<Item ID="9"><Type>Opaque</Type></Item>', '3'))
    assert.ok(typeof parsed !== 'string')
    assert.equal(new ObjectDefinitions([parsed]).findType([3, 0, 9]), 'Opaque')
  })

  test('that is invalid is refused with a reason', () => {
    for (const [text, reason] of [
      ['<a/>', /no element Object/],
      [xml('', '70000'), /ObjectID/],
      [xml('<Item ID="x"><Type>Integer</Type></Item>'), /"x" is not a number/],
      [xml('<Item ID="1"><Type>Matrix</Type></Item>'), /unknown type "matrix"/],
    ] as const) {
      const parsed = parseObjectDefinition(text)
      assert.match(typeof parsed === 'string' ? parsed : 'taken', reason)
    }
  })
})
