(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.type
(annotation_type_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(field_declaration (modifiers "static") declarator: (variable_declarator name: (identifier) @name)) @definition.constant
(superclass (type_identifier) @inherit)
(super_interfaces (type_list (type_identifier) @inherit))
(extends_interfaces (type_list (type_identifier) @inherit))
(method_invocation !object name: (identifier) @call)
(method_invocation object: [(identifier) (this) (super)] @receiver name: (identifier) @call)
(method_invocation object: [(method_invocation) (field_access) (object_creation_expression) (parenthesized_expression) (array_access)] name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
(field_access object: (identifier) @receiver field: (identifier) @use)
(import_declaration (scoped_identifier) @module) @import
(formal_parameter name: (identifier) @local)
(local_variable_declaration declarator: (variable_declarator name: (identifier) @local))
