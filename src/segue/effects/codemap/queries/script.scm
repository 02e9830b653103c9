(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(program (_ (variable_declarator name: (identifier) @name) @definition.constant))
(program (export_statement (_ (variable_declarator name: (identifier) @name) @definition.constant)))
(program (_ (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @definition.function))
(program (export_statement (_ (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @definition.function)))
(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: [(identifier) (this)] @receiver property: [(property_identifier) (private_property_identifier)] @call))
(call_expression function: (member_expression object: [(call_expression) (new_expression) (member_expression) (subscript_expression) (await_expression) (parenthesized_expression)] property: [(property_identifier) (private_property_identifier)] @call))
(new_expression constructor: (identifier) @call)
(call_expression function: (member_expression object: (new_expression constructor: (identifier) @receiver) property: (property_identifier) @call))
(member_expression object: (identifier) @receiver property: (property_identifier) @use)
(import_statement source: (string (string_fragment) @module)) @import
(import_statement (import_clause (identifier) @alias) source: (string (string_fragment) @module)) @import
(import_statement (import_clause (namespace_import (identifier) @alias)) source: (string (string_fragment) @module)) @import
(import_statement (import_clause (named_imports (import_specifier name: (identifier) @item !alias))) source: (string (string_fragment) @module)) @import
(import_statement (import_clause (named_imports (import_specifier name: (identifier) @item alias: (identifier) @alias))) source: (string (string_fragment) @module)) @import
(export_statement (export_clause (export_specifier name: (identifier) @item)) source: (string (string_fragment) @module)) @import
(export_statement "*" @star source: (string (string_fragment) @module)) @import
(call_expression function: [(identifier) (import)] @_import arguments: (arguments (string (string_fragment) @module)) (#any-of? @_import "require" "import")) @import
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @item) value: (call_expression function: (identifier) @_import arguments: (arguments (string (string_fragment) @module))) (#eq? @_import "require")) @import
(variable_declarator name: (identifier) @alias value: (call_expression function: (identifier) @_import arguments: (arguments (string (string_fragment) @module))) (#eq? @_import "require")) @import
