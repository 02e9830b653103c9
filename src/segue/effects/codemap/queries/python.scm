(function_definition name: (identifier) @name) @definition.function
(class_definition name: (identifier) @name) @definition.class
(module (expression_statement (assignment left: (identifier) @name) @definition.constant))
(class_definition superclasses: (argument_list (identifier) @inherit))
(class_definition superclasses: (argument_list (attribute object: (identifier) @receiver attribute: (identifier) @inherit)))
(call function: (identifier) @call)
(call function: (attribute object: (call function: (identifier) @receiver) attribute: (identifier) @call) (#match? @receiver "^[A-Z]"))
(call function: (attribute object: (identifier) @receiver attribute: (identifier) @call))
(call function: (attribute object: [(call) (subscript) (attribute) (string) (parenthesized_expression)] attribute: (identifier) @call))
(attribute object: (identifier) @receiver attribute: (identifier) @use)
(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @item) @import
(import_from_statement module_name: (_) @module name: (aliased_import name: (dotted_name) @item alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module (wildcard_import) @star) @import
(parameters (identifier) @local)
(parameters (_ (identifier) @local))
(default_parameter name: (identifier) @local)
(typed_default_parameter name: (identifier) @local)
(lambda_parameters (identifier) @local)
(assignment left: (identifier) @local)
(assignment left: (pattern_list (identifier) @local))
(for_statement left: (identifier) @local)
(for_in_clause left: (identifier) @local)
(as_pattern_target (identifier) @local)
