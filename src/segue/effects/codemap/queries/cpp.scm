(class_specifier name: (type_identifier) @name body: (_)) @definition.class
(namespace_definition name: (namespace_identifier) @name) @definition.module
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @definition.method
(function_definition declarator: (function_declarator declarator: (qualified_identifier scope: (namespace_identifier) @owner name: (identifier) @name))) @definition.method
(function_definition declarator: (reference_declarator (function_declarator declarator: (qualified_identifier scope: (namespace_identifier) @owner name: (identifier) @name)))) @definition.method
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (qualified_identifier scope: (namespace_identifier) @owner name: (identifier) @name)))) @definition.method
(function_definition declarator: (function_declarator declarator: (qualified_identifier name: (qualified_identifier scope: (namespace_identifier) @owner name: (identifier) @name)))) @definition.method
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @declaration.method
(alias_declaration name: (type_identifier) @name) @definition.type
(base_class_clause (type_identifier) @inherit)
(call_expression function: (qualified_identifier scope: (namespace_identifier) @receiver name: (identifier) @call))
(call_expression function: (field_expression argument: (this) @receiver field: (field_identifier) @call))
(call_expression function: (template_function name: (identifier) @call))
(new_expression type: (type_identifier) @call)
