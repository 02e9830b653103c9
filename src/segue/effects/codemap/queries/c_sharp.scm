(class_declaration name: (identifier) @name) @definition.class
(struct_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.type
(delegate_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(local_function_statement name: (identifier) @name) @definition.function
(property_declaration name: (identifier) @name) @definition.constant
(namespace_declaration name: (_) @name) @definition.module
(file_scoped_namespace_declaration name: (_) @name) @definition.module
(base_list [(identifier) @inherit (generic_name (identifier) @inherit)])
(invocation_expression function: (identifier) @call)
(invocation_expression function: (generic_name (identifier) @call))
(invocation_expression function: (member_access_expression expression: [(identifier) "this" "base"] @receiver name: [(identifier) @call (generic_name (identifier) @call)]))
(invocation_expression function: (member_access_expression expression: [(invocation_expression) (member_access_expression) (element_access_expression) (object_creation_expression) (parenthesized_expression) (await_expression)] name: [(identifier) @call (generic_name (identifier) @call)]))
(object_creation_expression type: [(identifier) @call (generic_name (identifier) @call)])
(member_access_expression expression: (identifier) @receiver name: (identifier) @use)
(using_directive [(identifier) (qualified_name)] @module) @import
(parameter name: (identifier) @local)
(variable_declarator name: (identifier) @local)
