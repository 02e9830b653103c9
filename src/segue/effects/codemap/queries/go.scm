(function_declaration name: (identifier) @name) @definition.function
(method_declaration receiver: (parameter_list (parameter_declaration type: [(type_identifier) @owner (pointer_type (type_identifier) @owner) (generic_type type: (type_identifier) @owner) (pointer_type (generic_type type: (type_identifier) @owner))])) name: (field_identifier) @name) @definition.method
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(source_file (const_declaration (const_spec name: (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.constant)))
(call_expression function: (identifier) @call)
(call_expression function: (selector_expression operand: (identifier) @receiver field: (field_identifier) @call))
(call_expression function: (selector_expression operand: [(call_expression) (selector_expression) (index_expression) (parenthesized_expression)] field: (field_identifier) @call))
(selector_expression operand: (identifier) @receiver field: (field_identifier) @use)
(qualified_type package: (package_identifier) @receiver name: (type_identifier) @use)
(import_spec !name path: (interpreted_string_literal) @module) @import
(import_spec name: (package_identifier) @alias path: (interpreted_string_literal) @module) @import
(parameter_declaration name: (identifier) @local)
(short_var_declaration left: (expression_list (identifier) @local))
