(method name: (_) @name) @definition.method
(singleton_method name: (_) @name) @definition.method
(class name: [(constant) @name (scope_resolution name: (constant) @name)]) @definition.class
(module name: [(constant) @name (scope_resolution name: (constant) @name)]) @definition.module
(assignment left: (constant) @name) @definition.constant
(superclass [(constant) @inherit (scope_resolution name: (constant) @inherit)])
(call !receiver method: (identifier) @call)
(call receiver: [(identifier) (constant) (self) (instance_variable)] @receiver method: (identifier) @call)
(call receiver: [(call) (element_reference) (scope_resolution) (parenthesized_statements)] method: (identifier) @call)
(call !receiver method: (identifier) @_import arguments: (argument_list (string (string_content) @module)) (#any-of? @_import "require" "require_relative" "load")) @import
(method_parameters (identifier) @local)
(assignment left: (identifier) @local)
