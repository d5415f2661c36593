// Entry point of the module manifests: texts of Kubernetes resources, and the cryptography that the pure module deploy is given.

export {
  createSecrets,
  hashText,
  renderResources,
  validateDocument,
  validateText,
  type RenderRequest,
  type ValidatedText,
} from './validate-text.ts'
export { parseManifests, writeYaml } from './yaml-library.ts'
