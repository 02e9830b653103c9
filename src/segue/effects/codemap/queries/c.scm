(function_definition declarator: (function_declarator declarator: (identifier) @name)) @definition.function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @definition.function
(translation_unit (declaration declarator: (function_declarator declarator: (identifier) @name)) @declaration.function)
(struct_specifier name: (type_identifier) @name body: (_)) @definition.class
(union_specifier name: (type_identifier) @name body: (_)) @definition.type
(enum_specifier name: (type_identifier) @name body: (_)) @definition.type
(type_definition declarator: (type_identifier) @name) @definition.type
(preproc_def name: (identifier) @name) @definition.constant
(preproc_function_def name: (identifier) @name) @definition.function
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.constant)
(call_expression function: (identifier) @call)
(call_expression function: (field_expression argument: (identifier) @receiver field: (field_identifier) @call))
(call_expression function: (field_expression argument: [(call_expression) (field_expression) (subscript_expression) (parenthesized_expression)] field: (field_identifier) @call))
(preproc_include path: [(string_literal) (system_lib_string)] @module) @import
