// Command api-server decides about resources as the API server of Kubernetes does, with its own code.
//
// Input: {"definitions": [CustomResourceDefinition], "cases": [{"kind", "object", "previous"}]}
// Output: {"definitions": [[error]], "cases": [[error]]}
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

type input struct {
	Definitions []json.RawMessage `json:"definitions"`
	Cases       []struct {
		Kind     string          `json:"kind"`
		Object   json.RawMessage `json:"object"`
		Previous json.RawMessage `json:"previous"`
	} `json:"cases"`
}

type output struct {
	Definitions [][]string `json:"definitions"`
	Cases       [][]string `json:"cases"`
}

// kind is what the API server makes of a definition.
type kind struct {
	structural *schema.Structural
	validator  schemavalidation.SchemaValidator
}

func main() {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	var given input
	check(json.NewDecoder(os.Stdin).Decode(&given))
	kinds := map[string]kind{}
	var found output
	for _, text := range given.Definitions {
		name, made, errors := define(scheme, text)
		kinds[name] = made
		found.Definitions = append(found.Definitions, errors)
	}
	for _, one := range given.Cases {
		found.Cases = append(found.Cases, decide(kinds[one.Kind], decode(one.Object), decode(one.Previous)))
	}
	check(json.NewEncoder(os.Stdout).Encode(found))
}

func define(scheme *runtime.Scheme, text []byte) (string, kind, []string) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	check(json.Unmarshal(text, definition))
	scheme.Default(definition)
	internal := &apiextensions.CustomResourceDefinition{}
	check(scheme.Convert(definition, internal, nil))
	internal.Status.StoredVersions = []string{definition.Spec.Versions[0].Name}
	errors := toTexts(validation.ValidateCustomResourceDefinition(context.Background(), internal))
	properties := internal.Spec.Validation
	if properties == nil {
		properties = internal.Spec.Versions[0].Schema
	}
	structural, err := schema.NewStructural(properties.OpenAPIV3Schema)
	check(err)
	validator, _, err := schemavalidation.NewSchemaValidator(properties.OpenAPIV3Schema)
	check(err)
	return definition.Spec.Names.Kind, kind{structural, validator}, errors
}

func decide(made kind, object, previous map[string]any) []string {
	defaulting.Default(object, made.structural)
	var old any
	if previous != nil {
		defaulting.Default(previous, made.structural)
		old = previous
	}
	errors := schemavalidation.ValidateCustomResource(nil, object, made.validator)
	errors = append(errors, listtype.ValidateListSetsAndMaps(nil, made.structural, object)...)
	rules := cel.NewValidator(made.structural, true, celconfig.PerCallLimit)
	ofRules, _ := rules.Validate(context.Background(), field.NewPath(""), made.structural, object, old, celconfig.RuntimeCELCostBudget)
	return toTexts(append(errors, ofRules...))
}

// decode keeps whole numbers whole, as the API server does.
func decode(text []byte) map[string]any {
	if len(text) == 0 {
		return nil
	}
	var object map[string]any
	check(utiljson.Unmarshal(text, &object))
	return object
}

func toTexts(errors field.ErrorList) []string {
	texts := []string{}
	for _, err := range errors {
		texts = append(texts, err.Error())
	}
	return texts
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
